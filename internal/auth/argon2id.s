// The compiler takes functions without a body, as argon2id.go declares them, in a package with assembly only.
