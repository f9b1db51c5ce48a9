package runlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
// [ErrNoBlob]. What the run marks as secret is left out, unless at most one o wants it.
func Export(ctx context.Context, s Store, run string, w io.Writer, o ...ExportOptions) error {
	if len(o) > 1 {
		return fmt.Errorf("runlog: export run %q: got %d ExportOptions, want at most one", run, len(o))
	}
	if err := export(ctx, s, run, w, len(o) == 1 && o[0].Secrets); err != nil {
		return fmt.Errorf("runlog: export run %q: %w", run, err)
	}
	return nil
}

func export(ctx context.Context, s Store, run string, w io.Writer, secrets bool) error {
	last, err := s.Last(ctx, run)
	if err != nil {
		return err
	}
	without := &withheld{}
	if !secrets {
		if without, err = withhold(ctx, s, run); err != nil {
			return err
		}
	}
	buf := bufio.NewWriter(w)
	lines := json.NewEncoder(buf)
	lines.SetEscapeHTML(false) // Data as it is
	if err := lines.Encode(exportHeader{exportFormat, exportVersion, run, last.Seq + 1}); err != nil {
		return err
	}
	written, err := exportBlobs(ctx, s, run, lines, without.blobs)
	if err != nil {
		return err
	}
	for r, err := range s.Records(ctx, run, 0) {
		if err != nil {
			return err
		}
		r = without.record(r)
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

// exportBlobs writes the blobs of run, but for those in without, and returns the hashes of
// those that it has written.
func exportBlobs(ctx context.Context, s Store, run string, lines *json.Encoder, without map[string]bool) (written map[string]bool, err error) {
	written = map[string]bool{}
	b, ok := As[Blobs](s)
	if !ok {
		return written, nil
	}
	for data, err := range b.BlobsOf(ctx, run) {
		if err != nil {
			return nil, err
		}
		blob := exportBlob{BlobHash(data), append([]byte{}, data...)} // nil would be null
		if without[blob.Blob] {
			continue
		}
		if err := lines.Encode(blob); err != nil {
			return nil, err
		}
		written[blob.Blob] = true
	}
	return written, nil
}

// Import stores the run that [Export] wrote to r, and returns its ID. It reads
// and checks everything first and appends all records or none: a faulty line is
// an error that says its number and stores nothing. A run that s knows already is
// [ErrConflict].
//
// A run that has blobs needs a store that is [Blobs]. The whole run is held in memory
// meanwhile.
func Import(ctx context.Context, s Store, r io.Reader) (run string, err error) {
	in := imported{blobs: make(map[string][]byte)}
	if err = in.read(r); err == nil {
		err = in.store(ctx, s)
	}
	if err != nil {
		return "", fmt.Errorf("runlog: import: %w", err)
	}
	return in.header.Run, nil
}

// imported is an export that was read.
type imported struct {
	header  exportHeader
	blobs   map[string][]byte
	recs    []Record
	listing Listing // listing of recs
}

func (in *imported) store(ctx context.Context, s Store) error {
	switch _, err := s.Last(ctx, in.header.Run); {
	case err == nil:
		return fmt.Errorf("%w: run %q is in the store already", ErrConflict, in.header.Run)
	case !errors.Is(err, ErrNoRun):
		return err
	}
	blobs, ok := As[Blobs](s)
	if !ok && len(in.blobs) > 0 {
		return errors.New("the run has blobs, and the store takes none: import it into one that is a runlog.Blobs")
	}
	for _, data := range in.blobs {
		if _, err := blobs.PutBlob(ctx, in.header.Run, data); err != nil {
			return err
		}
	}
	return s.Append(ctx, in.recs)
}

// read reads an export to its end and checks it.
func (in *imported) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, math.MaxInt)
	n := 0
	for lines.Scan() {
		n++
		if err := in.line(n, lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return fmt.Errorf("line %d: %w", n+1, err)
	case n == 0:
		return errors.New("line 1: the header is missing")
	case in.listing.Next != in.header.Records:
		return fmt.Errorf("line %d: the file ends after %d of %d records", n, in.listing.Next, in.header.Records)
	}
	return nil
}

func (in *imported) line(n int, line []byte) error {
	if n == 1 {
		return in.readHeader(line)
	}
	var l struct {
		Record
		Bytes *[]byte `json:"bytes"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&l)
	if _, end := dec.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("more than one JSON value")
	}
	switch {
	case err != nil:
		return fmt.Errorf("not a line of an export: %w", err)
	case l.Bytes == nil:
		return in.addRecord(l.Record)
	case len(in.recs) > 0:
		return errors.New("a blob after the first record")
	}
	in.blobs[l.Blob] = *l.Bytes
	return CheckBlob(in.header.Run, l.Blob, *l.Bytes)
}

func (in *imported) readHeader(line []byte) error {
	h := &in.header
	err := json.Unmarshal(line, h)
	switch {
	case err != nil || h.Format != exportFormat || h.Run == "" || h.Records < 1:
		return fmt.Errorf("not an exported run: want a header with the format %q, a run, and how many records it has", exportFormat)
	case h.Version != exportVersion:
		return fmt.Errorf("the format has version %d, this program reads version %d", h.Version, exportVersion)
	}
	return nil
}

func (in *imported) addRecord(r Record) error {
	r.At = r.At.UTC()
	h, next, blob := in.header, in.listing.Next, in.blobs[r.Blob]
	switch {
	case r.Run != h.Run || r.Seq != next || next == h.Records || in.listing.Ended:
		return fmt.Errorf("record %d of run %q is not the next of run %q, which has %d of %d, ended: %t", r.Seq, r.Run, h.Run, next, h.Records, in.listing.Ended)
	case r.Kind == "" || next == 0 && r.Kind != Started:
		return fmt.Errorf("the kind of record %d is %q", r.Seq, r.Kind)
	case r.Blob != "" && (blob == nil || r.Data != nil):
		return fmt.Errorf("the record's blob %q is not among the blobs before, or the record has data too", r.Blob)
	case r.At.Year() < 0 || r.At.Year() > 9999:
		return fmt.Errorf("the record's time is in year %d", r.At.Year())
	}
	in.recs = append(in.recs, r)
	return in.listing.Add(r)
}
