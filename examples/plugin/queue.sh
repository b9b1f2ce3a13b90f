#!/bin/sh
# The number of files that wait, as Mackerel's plugins print it: name, value, time.
printf 'queue.files\t%s\t%s\n' "$(find /spool -type f | wc -l)" "$(date +%s)"
