#!/bin/sh
# docker login comment.example.com
echo "Run docker login first"
if [ -n "$CI" ]; then
  printf '%s' hunter2 | docker login script.example.com -u robot --password-stdin
fi
docker login here.example.com -u robot --password-stdin <<'EOF'
hunter2
EOF
printf "%s\n" hunter2 | docker login format.example.com -u robot --password-stdin
