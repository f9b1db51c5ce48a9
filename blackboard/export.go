package blackboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
// run if s is [Blobs], then a record a line. Letters are left out.
//
// The run may grow meanwhile: Export writes the records that were there when it
// began. A run without records is [ErrNoRun], a record whose blob is missing
// [ErrNoBlob].
func Export(ctx context.Context, s Store, run string, w io.Writer) error {
	if err := export(ctx, s, run, w); err != nil {
		return fmt.Errorf("blackboard: export run %q: %w", run, err)
	}
	return nil
}

func export(ctx context.Context, s Store, run string, w io.Writer) error {
	last, err := s.Last(ctx, run)
	if err != nil {
		return err
	}
	n := last.Seq + 1
	buf := bufio.NewWriter(w)
	out := lines{w: buf, blobs: make(map[string]bool)}
	if err := out.write(exportHeader{exportFormat, exportVersion, run, n}); err != nil {
		return err
	}
	if err := exportBlobs(ctx, s, run, &out); err != nil {
		return err
	}
	if err := exportRecords(ctx, s, run, n, out); err != nil {
		return err
	}
	return buf.Flush()
}

func exportBlobs(ctx context.Context, s Store, run string, out *lines) error {
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
		hash := BlobHash(data)
		if err := out.write(exportBlob{hash, data}); err != nil {
			return err
		}
		out.blobs[hash] = true
	}
	return nil
}

func exportRecords(ctx context.Context, s Store, run string, n int64, out lines) error {
	for r, err := range s.Records(ctx, run, 0) {
		if err != nil {
			return err
		}
		if r.Blob != "" && !out.blobs[r.Blob] {
			return fmt.Errorf("record %d: %w: %q", r.Seq, ErrNoBlob, r.Blob)
		}
		if err := out.write(r); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if n--; n == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d records are missing: the run was deleted meanwhile, or the store is damaged", n)
}

// lines writes values as JSON, one a line, and Data as it is.
type lines struct {
	w     *bufio.Writer
	blobs map[string]bool // that were written, by hash
}

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
