@echo off
rem What `helm mackerel ...` runs on Windows: the program beside this file. There, --post-renderer takes the program itself.
if "%~1"=="path" (
    echo %~dp0mackerel-agent-injector.exe
    exit /b 0
)
"%~dp0mackerel-agent-injector.exe" %*
