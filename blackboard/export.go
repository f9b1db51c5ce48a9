package blackboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

const (
	exportFormat  = "convene-run"
	exportVersion = 1
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
	buf := bufio.NewWriter(w)
	lines := json.NewEncoder(buf)
	lines.SetEscapeHTML(false) // Data as it is
	if err := lines.Encode(exportHeader{exportFormat, exportVersion, run, last.Seq + 1}); err != nil {
		return err
	}
	written := make(map[string]bool) // blobs, by hash
	if b, ok := s.(Blobs); ok {
		for data, err := range b.BlobsOf(ctx, run) {
			if err != nil {
				return err
			}
			blob := exportBlob{BlobHash(data), append([]byte{}, data...)} // nil would be null
			if err := lines.Encode(blob); err != nil {
				return err
			}
			written[blob.Blob] = true
		}
	}
	for r, err := range s.Records(ctx, run, 0) {
		if err != nil {
			return err
		}
		if r.Blob != "" && !written[r.Blob] {
			return fmt.Errorf("record %d: %w: %q", r.Seq, ErrNoBlob, r.Blob)
		}
		if err := lines.Encode(r); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if r.Seq == last.Seq {
			return buf.Flush()
		}
	}
	return fmt.Errorf("record %d is missing: the run was deleted meanwhile, or the store is damaged", last.Seq)
}
