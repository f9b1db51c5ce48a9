package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/blackboard/runlog"
)

// hexMark begins a text that is stored in hex.
const hexMark = `\x`

// toText returns s as a column of type text stores it. Postgres refuses zero bytes and
// invalid UTF-8; such texts, and those that look like stored hex, are stored in hex.
func toText(s string) string {
	if strings.HasPrefix(s, hexMark) || strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return hexMark + hex.EncodeToString([]byte(s))
	}
	return s
}

// fromText undoes toText.
func fromText(s string) string {
	if rest, ok := strings.CutPrefix(s, hexMark); ok {
		if b, err := hex.DecodeString(rest); err == nil {
			return string(b)
		}
	}
	return s
}

func toTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = toText(s)
	}
	return out
}

// toBytes returns data as a column holds it: empty data is NULL and read as nil.
func toBytes(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of all fields of r, whose time is at.
func checksum(r *runlog.Record, at int64) int32 {
	return sum(r.Data, []int64{r.Seq, r.N, at}, r.Run, r.Kind, r.Branch, r.Name, r.Hash, r.Blob)
}

// letterSum is the CRC-32C of l.
func letterSum(l runlog.Letter) int32 {
	return sum(l.Data, letterNumbers(l), l.Run, l.Key)
}

// letterNumbers returns Expired and Round. Version 1 of the tables knew only the first.
func letterNumbers(l runlog.Letter) []int64 {
	numbers := []int64{0, int64(l.Round)}
	if l.Expired {
		numbers[0] = 1
	}
	return numbers
}

func sum(data []byte, numbers []int64, texts ...string) int32 {
	var room [256]byte
	b := room[:0]
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return int32(crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, data))
}

func damaged(run, format string, args ...any) error {
	return fmt.Errorf("%w: %s of run %q: restore the database from a backup", runlog.ErrDamaged, fmt.Sprintf(format, args...), run)
}

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

var (
	minTime = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// nanosOf is nanos of the time of a record, or an error.
func nanosOf(r *runlog.Record) (int64, error) {
	if !r.At.IsZero() && (r.At.Before(minTime) || !r.At.Before(maxTime)) {
		return 0, fmt.Errorf("%w: record %d of run %q: the time %v is not in the years 1678 to 2261", runlog.ErrRefused, r.Seq, r.Run, r.At)
	}
	return nanos(r.At), nil
}

// nanos returns t in nanoseconds since 1970. Times out of range count as before or after
// all others.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(minTime):
		return noTime
	case !t.Before(maxTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
