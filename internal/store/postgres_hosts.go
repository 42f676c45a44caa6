package store

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hosts are the servers that the address of the database names, of which one takes writes. pgx tries them in their order,
// and waits for each that is silent; so the one that was found to take writes is put first.
type hosts struct {
	list  [][]*pgconn.FallbackConfig // for each host, the ways to connect to it: with TLS, without
	first atomic.Int64               // the index of the one that is tried first
}

func hostsOf(config *pgx.ConnConfig) *hosts {
	h := &hosts{}
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, way := range ways {
		same := func(known []*pgconn.FallbackConfig) bool {
			return known[0].Host == way.Host && known[0].Port == way.Port
		}
		if i := slices.IndexFunc(h.list, same); i >= 0 {
			h.list[i] = append(h.list[i], way)
		} else {
			h.list = append(h.list, []*pgconn.FallbackConfig{way})
		}
	}
	return h
}

// only has a connection made to the host of that index alone.
func (h *hosts) only(config *pgx.ConnConfig, index int) *pgx.ConnConfig {
	config = config.Copy()
	use(config, h.list[index])
	return config
}

// order is for pgxpool.Config.BeforeConnect.
func (h *hosts) order(_ context.Context, config *pgx.ConnConfig) error {
	first := int(h.first.Load())
	use(config, slices.Concat(append([][]*pgconn.FallbackConfig{h.list[first]}, slices.Delete(slices.Clone(h.list), first, first+1)...)...))
	return nil
}

func use(config *pgx.ConnConfig, ways []*pgconn.FallbackConfig) {
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}
