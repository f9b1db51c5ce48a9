package blackboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
)

// Import stores the run that [Export] wrote to r, and returns its ID. It reads
// and checks everything first and appends all records or none: a faulty line is
// an error that says its number and stores nothing. A run that s knows already is
// [ErrConflict].
//
// If s is not [Blobs], records get the data of their blobs as Data, and a blob that
// only the Data of a record names is an error. The whole run is held in memory
// meanwhile. A line is at most 256 MiB long.
func Import(ctx context.Context, s Store, r io.Reader) (run string, err error) {
	run, err = importRun(ctx, s, r)
	if err != nil {
		return "", fmt.Errorf("blackboard: import: %w", err)
	}
	return run, nil
}

func importRun(ctx context.Context, s Store, r io.Reader) (string, error) {
	in, err := readImport(r)
	if err != nil {
		return "", err
	}
	switch _, err := s.Last(ctx, in.header.Run); {
	case err == nil:
		return "", fmt.Errorf("%w: run %q is in the store already", ErrConflict, in.header.Run)
	case !errors.Is(err, ErrNoRun):
		return "", err
	}
	if blobs, ok := s.(Blobs); ok {
		err = in.putBlobs(ctx, blobs)
	} else {
		err = in.inlineBlobs()
	}
	if err != nil {
		return "", err
	}
	return in.header.Run, s.Append(ctx, in.recs)
}

// imported is an export that was read.
type imported struct {
	header  exportHeader
	blobs   map[string][]byte
	recs    []Record
	listing Listing // of recs
}

func (in *imported) putBlobs(ctx context.Context, s Blobs) error {
	for _, data := range in.blobs {
		if _, err := s.PutBlob(ctx, in.header.Run, data); err != nil {
			return err
		}
	}
	return nil
}

func (in *imported) inlineBlobs() error {
	unused := maps.Clone(in.blobs)
	for i := range in.recs {
		r := &in.recs[i]
		if r.Blob == "" {
			continue
		}
		data := in.blobs[r.Blob]
		if !json.Valid(data) {
			return fmt.Errorf("record %d: blob %s is not JSON, and the store takes no blobs", r.Seq, r.Blob)
		}
		delete(unused, r.Blob)
		r.Data, r.Blob = data, ""
	}
	for hash := range unused {
		return fmt.Errorf("blob %s is the data of no record, and the store takes no blobs", hash)
	}
	return nil
}

// readImport reads an export to its end and checks it.
func readImport(r io.Reader) (*imported, error) {
	in := &imported{blobs: make(map[string][]byte)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxExportLine+1)
	n := 0
	for lines.Scan() {
		n++
		if err := in.line(n, lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", maxExportLine)
		}
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return nil, errors.New("line 1: the header is missing")
	}
	if got := in.listing.Next; got != in.header.Records {
		return nil, fmt.Errorf("line %d: the file ends after %d of %d records", n, got, in.header.Records)
	}
	return in, nil
}

func (in *imported) line(n int, line []byte) error {
	if n == 1 {
		return in.readHeader(line)
	}
	var l struct {
		Record
		Bytes *[]byte `json:"bytes"`
	}
	if err := decode(line, &l); err != nil {
		return err
	}
	if l.Bytes != nil {
		return in.addBlob(l.Blob, *l.Bytes)
	}
	return in.addRecord(l.Record)
}

func (in *imported) readHeader(line []byte) error {
	var version struct { // alone: a newer header may have more fields
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(line, &version); err != nil || version.Format != exportFormat {
		return fmt.Errorf("not an exported run: want a header with the format %q", exportFormat)
	}
	if version.Version != exportVersion {
		return fmt.Errorf("the format has version %d, this program reads version %d", version.Version, exportVersion)
	}
	if err := decode(line, &in.header); err != nil {
		return err
	}
	if in.header.Run == "" {
		return errors.New("the header names no run")
	}
	if in.header.Records < 1 {
		return fmt.Errorf("the header announces %d records, want 1 or more", in.header.Records)
	}
	return nil
}

func (in *imported) addBlob(hash string, data []byte) error {
	if len(in.recs) > 0 {
		return errors.New("a blob after the first record")
	}
	if got := BlobHash(data); got != hash {
		return fmt.Errorf("the blob's hash is %s, but its bytes have %s", hash, got)
	}
	in.blobs[hash] = data
	return nil
}

func (in *imported) addRecord(r Record) error {
	if err := in.check(&r); err != nil {
		return err
	}
	if r.Data != nil {
		var data bytes.Buffer // space between tokens is the file's, not the record's
		if err := json.Compact(&data, r.Data); err != nil {
			return err
		}
		r.Data = data.Bytes()
	}
	r.At = r.At.UTC()
	if y := r.At.Year(); y < 0 || y > 9999 {
		return fmt.Errorf("the record's time is in year %d", y)
	}
	if err := in.listing.Add(r); err != nil {
		return err
	}
	in.recs = append(in.recs, r)
	return nil
}

// check says what is wrong with the next record.
func (in *imported) check(r *Record) error {
	want := in.listing.Next
	switch {
	case r.Run != in.header.Run:
		return fmt.Errorf("a record of run %q in an export of run %q", r.Run, in.header.Run)
	case want == in.header.Records:
		return fmt.Errorf("more than the %d records that the header announces", want)
	case r.Seq != want:
		return fmt.Errorf("record %d where %d is next", r.Seq, want)
	case in.listing.Ended:
		return errors.New("a record after the run has ended")
	case r.Kind == "":
		return errors.New("the record has no kind")
	case want == 0 && r.Kind != Started:
		return fmt.Errorf("the first record is %q, want %q", r.Kind, Started)
	case r.Blob == "":
		return nil
	case r.Data != nil:
		return errors.New("the record has both data and a blob")
	}
	if _, ok := in.blobs[r.Blob]; !ok {
		return fmt.Errorf("the record's blob %q is not among the blobs before", r.Blob)
	}
	return nil
}

// decode reads one JSON value and nothing else, without unknown fields.
func decode(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("not a line of an export: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
