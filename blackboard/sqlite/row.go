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

// What is stored comes back from three columns: a number, the head, and Data. The head
// has all other fields of a record in binary, behind a checksum of everything; a
// column for each field would take the driver several times as long. The tables have
// such fields as columns too as queries and people need, but what is read is the head.
// Letters and the entries of the list of runs are stored as records.
const columns = "CAST(head AS TEXT), CAST(data AS BLOB)"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head returns the head of r, whose time is at. It is valid until the next call.
func (c *conn) head(r *blackboard.Record, at int64) []byte {
	b := binary.LittleEndian.AppendUint64(append(c.buf[:0], r.Run...), uint64(r.Seq))
	sum := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.AppendVarint(binary.AppendVarint(b, r.N), at)
	for _, s := range [...]string{r.Kind, r.Branch, r.Name, r.Hash, r.Blob} {
		b = append(binary.AppendVarint(b, int64(len(s))), s...)
	}
	c.buf = b
	binary.LittleEndian.PutUint32(b[sum:], crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, r.Data))
	return b[sum:]
}

// record returns the record seq of run of a row of a number and columns, not ok if it is
// damaged.
func (c *conn) record(run string, row []driver.Value) (r blackboard.Record, ok bool) {
	f := fields(text(row[1]))
	f.cut(4)
	r = blackboard.Record{Run: run, Seq: integer(row[0]), N: f.integer(), Data: bytes(row[2])}
	at := f.integer()
	r.At = fromNanos(at)
	r.Kind, r.Branch, r.Name, r.Hash, r.Blob = f.text(), f.text(), f.text(), f.text(), f.text()
	return r, string(c.head(&r, at)) == text(row[1])
}

// fields is the rest of a head. Fields that are missing are zero.
type fields string

func (f *fields) cut(n int64) fields {
	n = max(0, min(n, int64(len(*f))))
	head := (*f)[:n]
	*f = (*f)[n:]
	return head
}

func (f *fields) integer() int64 {
	n, size := binary.Varint([]byte((*f)[:min(len(*f), binary.MaxVarintLen64)]))
	f.cut(int64(size))
	return n
}

func (f *fields) text() string { return string(f.cut(f.integer())) }

func damaged(run, format string, args ...any) error {
	return fmt.Errorf("%w: %s of run %q: restore the file from a copy", blackboard.ErrDamaged, fmt.Sprintf(format, args...), run)
}

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

// nanos returns t in nanoseconds since 1970. A time that is not ok cannot be stored; it
// is before or after all that can.
func nanos(t time.Time) (n int64, ok bool) {
	switch y := t.UTC().Year(); {
	case t.IsZero():
		return noTime, true
	case y < 1678:
		return noTime, false
	case y > 2261:
		return math.MaxInt64, false
	}
	return t.UnixNano(), true
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
