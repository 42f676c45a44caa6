#!/bin/sh
# docker login comment.example.com
echo "Run docker login first"
if [ -n "$CI" ]; then
  printf '%s' hunter2 | docker login script.example.com -u robot --password-stdin
fi
