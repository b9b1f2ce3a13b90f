@echo off
rem Runs `helm mackerel ...` on Windows by the program beside this file, which a package has, or by the one on the PATH. There,
rem --post-renderer takes the program itself.
set "program=%~dp0mackerel-agent-injector.exe"
if not exist "%program%" set "program=mackerel-agent-injector.exe"
if "%~1"=="path" (
    echo %program%
    exit /b 0
)
"%program%" %*
