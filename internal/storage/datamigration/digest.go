package datamigration

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// tableDigest is a digest of rows in any order: the two databases return them in different orders. Each row's SHA-256 is
// added to a sum of 256 bits.
type tableDigest struct {
	rows int64
	sum  [4]uint64 // the last is the most significant
}

func (d *tableDigest) add(values []any) {
	hash := sha256.New()
	write := func(kind byte, content []byte) {
		hash.Write([]byte{kind})
		hash.Write([]byte(strconv.Itoa(len(content)) + ":"))
		hash.Write(content)
	}
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			write('n', nil)
		case int64:
			write('i', strconv.AppendInt(nil, v, 10))
		case string:
			write('t', []byte(v))
		case []byte:
			write('b', v)
		default:
			write('?', fmt.Append(nil, v)) // no column of the store; it differs from what was read
		}
	}
	row := hash.Sum(nil)
	var carry uint64
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(row[8*i:]), carry)
	}
	d.rows++
}

func (d *tableDigest) text() string {
	var out []byte
	for i := len(d.sum) - 1; i >= 0; i-- {
		out = binary.BigEndian.AppendUint64(out, d.sum[i])
	}
	return hex.EncodeToString(out)
}

func digestOf(ctx context.Context, tx pgx.Tx, query string) (tableDigest, error) {
	var digest tableDigest
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return digest, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return digest, err
		}
		digest.add(values)
	}
	return digest, rows.Err()
}
