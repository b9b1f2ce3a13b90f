# The chart's arguments go to the program; gdbserver waits with it for a gdb.
FROM debian:stable-slim
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends gdbserver && rm -rf /var/lib/apt/lists/*
COPY mackerel-agent-injector /usr/bin/
USER 65534:65534
ENTRYPOINT ["gdbserver", "--once", "--no-disable-randomization", "0.0.0.0:3333", "/usr/bin/mackerel-agent-injector"]
