package serve

import (
	"io"
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/regwarden/regwarden/internal/cli/settings"
)

// memoryShare is the part of the cgroup's memory that the Go runtime may use. SQLite's page cache and the process that
// hashes passwords need the rest.
const memoryShare = 0.7

// limitMemory sets the memory limit of the Go runtime from that of the cgroup, so that the garbage collector runs more often instead of
// the process being killed. GOMEMLIMIT takes precedence.
func limitMemory(log *slog.Logger) {
	if limit, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil { // no cgroup, or not Linux
		log.Debug("memory limit not set", "error", err)
	} else if limit < math.MaxInt64 {
		log.Debug("memory limit set", "bytes", limit)
	}
}

func newLogger(c *settings.Config, to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options)), nil
	}
	return slog.New(slog.NewTextHandler(to, options)), nil
}
