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
	"math"
)

// Import stores the run that [Export] wrote to r, and returns its ID. It reads
// and checks everything first and appends all records or none: a faulty line is
// an error that says its number and stores nothing. A run that s knows already is
// [ErrConflict].
//
// If s is not [Blobs], records get the data of their blobs as Data, and a blob that
// only the Data of a record names is an error. The whole run is held in memory
// meanwhile.
func Import(ctx context.Context, s Store, r io.Reader) (run string, err error) {
	in := imported{blobs: make(map[string][]byte)}
	if err = in.read(r); err == nil {
		err = in.store(ctx, s)
	}
	if err != nil {
		return "", fmt.Errorf("blackboard: import: %w", err)
	}
	return in.header.Run, nil
}

// imported is an export that was read.
type imported struct {
	header  exportHeader
	blobs   map[string][]byte
	recs    []Record
	listing Listing // of recs
}

func (in *imported) store(ctx context.Context, s Store) error {
	switch _, err := s.Last(ctx, in.header.Run); {
	case err == nil:
		return fmt.Errorf("%w: run %q is in the store already", ErrConflict, in.header.Run)
	case !errors.Is(err, ErrNoRun):
		return err
	}
	blobs, ok := s.(Blobs)
	if !ok {
		if err := in.inlineBlobs(); err != nil {
			return err
		}
	}
	for _, data := range in.blobs {
		if _, err := blobs.PutBlob(ctx, in.header.Run, data); err != nil {
			return err
		}
	}
	return s.Append(ctx, in.recs)
}

// inlineBlobs makes blobs the Data of the records that have them, for a store that
// takes none.
func (in *imported) inlineBlobs() error {
	unused := maps.Clone(in.blobs)
	for i := range in.recs {
		if r := &in.recs[i]; r.Blob != "" {
			data := in.blobs[r.Blob]
			if !json.Valid(data) {
				return fmt.Errorf("record %d: blob %s is not JSON, and the store takes no blobs", r.Seq, r.Blob)
			}
			delete(unused, r.Blob)
			r.Data, r.Blob = data, ""
		}
	}
	for hash := range unused {
		return fmt.Errorf("blob %s is the data of no record, and the store takes no blobs", hash)
	}
	in.blobs = nil
	return nil
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
	if err := dec.Decode(&l); err != nil {
		return fmt.Errorf("not a line of an export: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	if l.Bytes != nil {
		return in.addBlob(l.Blob, *l.Bytes)
	}
	return in.addRecord(l.Record)
}

func (in *imported) readHeader(line []byte) error {
	h := &in.header
	err := json.Unmarshal(line, h)
	switch {
	case err != nil || h.Format != exportFormat:
		return fmt.Errorf("not an exported run: want a header with the format %q", exportFormat)
	case h.Version != exportVersion:
		return fmt.Errorf("the format has version %d, this program reads version %d", h.Version, exportVersion)
	case h.Run == "":
		return errors.New("the header names no run")
	case h.Records < 1:
		return fmt.Errorf("the header announces %d records, want 1 or more", h.Records)
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
	r.At = r.At.UTC()
	_, known := in.blobs[r.Blob]
	switch want := in.listing.Next; {
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
	case r.Blob != "" && !known:
		return fmt.Errorf("the record's blob %q is not among the blobs before", r.Blob)
	case r.At.Year() < 0 || r.At.Year() > 9999:
		return fmt.Errorf("the record's time is in year %d", r.At.Year())
	}
	in.recs = append(in.recs, r)
	return in.listing.Add(r)
}
