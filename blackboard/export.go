package blackboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	exportFormat  = "convene-run"
	exportVersion = 1

	// maxExportLine is the longest line in bytes that Export writes and Import
	// reads.
	maxExportLine = 256 << 20
)

// exportHeader is the first line of an export.
type exportHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Run     string `json:"run"`
	Records int64  `json:"records"`
}

// exportBlob is the line of a blob; Bytes are in base64.
type exportBlob struct {
	Blob  string `json:"blob"`
	Bytes []byte `json:"bytes"`
}

// Export writes the log of run to w as JSON lines: a header that names the
// format, its version, the run and how many records follow, then the blobs of the
// run if s is [Blobs], then a record a line. Letters and leases are left out.
//
// A run may go on meanwhile: Export writes the records that were there when it
// began. A run without records is an error.
func Export(ctx context.Context, s Store, run string, w io.Writer) error {
	if err := export(ctx, s, run, w); err != nil {
		return fmt.Errorf("blackboard: export run %q: %w", run, err)
	}
	return nil
}

func export(ctx context.Context, s Store, run string, w io.Writer) error {
	n, err := count(ctx, s, run)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	out := lines{w: buf}
	if err := out.write(exportHeader{exportFormat, exportVersion, run, n}); err != nil {
		return err
	}
	if err := exportBlobs(ctx, s, run, out); err != nil {
		return err
	}
	if err := exportRecords(ctx, s, run, n, out); err != nil {
		return err
	}
	return buf.Flush()
}

// count returns how many records run has, at least one.
func count(ctx context.Context, s Store, run string) (int64, error) {
	var n int64
	for _, err := range s.Records(ctx, run, 0) {
		if err != nil {
			return 0, err
		}
		n++
	}
	if n == 0 {
		return 0, errors.New("it has no records")
	}
	return n, nil
}

func exportBlobs(ctx context.Context, s Store, run string, out lines) error {
	b, ok := s.(Blobs)
	if !ok {
		return nil
	}
	for data, err := range b.BlobsOf(ctx, run) {
		if err != nil {
			return err
		}
		if data == nil {
			data = []byte{} // null would be no blob
		}
		if err := out.write(exportBlob{blobHash(data), data}); err != nil {
			return err
		}
	}
	return nil
}

func exportRecords(ctx context.Context, s Store, run string, n int64, out lines) error {
	for r, err := range s.Records(ctx, run, 0) {
		if err != nil {
			return err
		}
		if err := out.write(r); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if n--; n == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d of its records are gone: was it deleted meanwhile?", n)
}

// lines writes values as JSON, one a line, and Data as it is.
type lines struct{ w *bufio.Writer }

func (l lines) write(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if line.Len() > maxExportLine {
		return fmt.Errorf("a line of %d bytes is too long, the limit is %d", line.Len(), maxExportLine)
	}
	_, err := l.w.Write(line.Bytes())
	return err
}
