package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
)

// readEvents passes the server-sent events in r to add, until one is the last. Each
// line of data is an event: no vendor's event has two.
func readEvents(r io.Reader, maxLine int64, add func(name string, data []byte) (last bool, err error)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(maxLine)+2) // a longer line is over r's limit first
	name, mark := "", []byte("\xef\xbb\xbf")
	for lines.Scan() {
		field, value, _ := bytes.Cut(bytes.TrimPrefix(lines.Bytes(), mark), []byte(":"))
		mark = nil // only the first line may begin with a byte order mark
		value = bytes.TrimSpace(value)
		if string(field) == "event" {
			name = string(value)
		}
		if string(field) != "data" || len(value) == 0 {
			continue // the end of an event, a comment, or a keep-alive
		}
		last, err := add(name, value)
		if err != nil {
			return cmp.Or(lines.Err(), err) // half an event, if reading failed
		}
		if last {
			return nil
		}
	}
	return lines.Err()
}
