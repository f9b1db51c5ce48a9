package langchain

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
)

// errUnfinished is a stream without a reason to stop: it broke off, or was broken
// off by the vendor.
var errUnfinished = errors.New("the stream ended without a finish reason")

// readStream reads server-sent events into a, gives each text to tell, and returns
// the whole answer as if it had not been streamed. langchaingo's own readers lose
// errors, long lines and what an unread stream leaves behind. When the stream
// fails, the returned body holds what is known: the usage and the vendor's error.
func readStream(r io.Reader, maxLine int64, a assembler, tell func(string) error) ([]byte, error) {
	err := readEvents(r, maxLine, a, tell)
	body, merr := json.Marshal(a.body())
	return body, errors.Join(err, merr)
}

func readEvents(r io.Reader, maxLine int64, a assembler, tell func(string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(maxLine)+2) // a longer line is over r's limit first
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // an empty line, a comment, or an event's name
		}
		if data = bytes.TrimSpace(data); len(data) == 0 {
			continue // nothing is said, to keep the connection
		}
		last, err := a.add(data, tell)
		if err != nil {
			return cmp.Or(lines.Err(), err) // half an event, if reading failed
		}
		if last {
			break
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !a.finished() {
		return errUnfinished
	}
	return nil
}
