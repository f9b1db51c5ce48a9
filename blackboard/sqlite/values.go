package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/convene-go/convene/blackboard"
)

// integer, text and bytes read values that may be NULL. SQLite stores true as 1.
func integer(v driver.Value) int64 {
	if v == true {
		return 1
	}
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func bytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

// textOrNull spares the space and time of empty texts.
func textOrNull(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// bytesOrNull stores empty bytes as NULL, which are read as nil.
func bytesOrNull(b []byte) driver.Value {
	if len(b) == 0 {
		return nil
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of all fields of r, whose time is at.
func (c *conn) checksum(r *blackboard.Record, at int64) int64 {
	b := binary.LittleEndian.AppendUint64(c.head[:0], uint64(r.Seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.N))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	for _, s := range [...]string{r.Run, r.Kind, r.Branch, r.Name, r.Hash, r.Blob} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	c.head = b
	return int64(crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, r.Data))
}

// rowChecksum is the CRC-32C of the values of a row of another table.
func (c *conn) rowChecksum(row []driver.Value) int64 {
	b := c.head[:0]
	for _, v := range row {
		s := text(v) + string(bytes(v))
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = binary.AppendVarint(append(b, s...), integer(v))
	}
	c.head = b
	return int64(crc32.Checksum(b, castagnoli))
}

func damaged(run, format string, args ...any) error {
	return fmt.Errorf("%w: %s of run %q: restore the file from a copy", blackboard.ErrDamaged, fmt.Sprintf(format, args...), run)
}

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

var (
	minTime = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// nanosOf is nanos of the time of a record, or an error.
func nanosOf(r *blackboard.Record) (int64, error) {
	if !r.At.IsZero() && (r.At.Before(minTime) || !r.At.Before(maxTime)) {
		return 0, fmt.Errorf("record %d of run %q: the time %v is not in the years 1678 to 2261", r.Seq, r.Run, r.At)
	}
	return nanos(r.At), nil
}

// nanos returns t in nanoseconds since 1970. Times that are not stored are before or
// after all that are.
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
