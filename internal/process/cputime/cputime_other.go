//go:build !unix

package cputime

import "time"

var started = time.Now()

func used() time.Duration { return time.Since(started) }
