// Package cputime measures the processor time of this process, by which work is limited that a busy machine must not fail.
package cputime

import "time"

// Used returns the processor time that this process has used, in all of its threads. On systems other than Unix it is the time since the
// start.
func Used() time.Duration { return used() }
