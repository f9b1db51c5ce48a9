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
	"regexp"
	"strings"

	"github.com/convene-go/convene/internal/text"
)

// CheckID returns an error if id cannot be that of a run that a host starts, and says what
// is wanted: up to 128 letters, digits, ".", "-", "_", and not dots alone. Such an ID is
// not misread in a path, a shell or a log.
func CheckID(id string) error {
	if !validID.MatchString(id) || strings.Trim(id, ".") == "" {
		return fmt.Errorf("%q: want up to 128 letters, digits, \".\", \"-\", \"_\", and not dots alone", text.Shorten(id, 128))
	}
	return nil
}

// validEffect matches what a child's ID has behind that of its parent and a slash.
var (
	validID     = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,128}$`)
	validEffect = regexp.MustCompile(`^[a-zA-Z0-9._:-]{1,1000}$`)
)

// Import stores what [Export] wrote to r, and returns the ID of the outermost run. It
// reads and checks everything first and appends all records or none, then puts the
// letters: a faulty line is an error that says its number and stores nothing. A run that s
// knows already is [ErrConflict]. The ID must be one that [CheckID] accepts, or that of a
// child whose parent is in the file or in s.
//
// A run that has blobs needs a store that is [Blobs], one with letters an [Inbox]. All is
// held in memory meanwhile.
func Import(ctx context.Context, s Store, r io.Reader) (run string, err error) {
	var in imported
	if err = in.read(r); err == nil {
		err = in.store(ctx, s)
	}
	if err != nil {
		return "", fmt.Errorf("runlog: import: %w", err)
	}
	return in.runs[0].header.Run, nil
}

// imported is an export that was read.
type imported struct {
	runs  []*importedRun // the outermost first
	known map[string]bool
}

// importedRun is what an export has of one run.
type importedRun struct {
	header  exportHeader
	blobs   map[string][]byte
	letters []Letter
	recs    []Record
	listing Listing // listing of recs
}

func (in *imported) store(ctx context.Context, s Store) error {
	blobs, hasBlobs := As[Blobs](s)
	inbox, hasInbox := As[Inbox](s)
	var recs []Record
	for _, r := range in.runs {
		if err := r.check(ctx, s, in.known); err != nil {
			return err
		}
		switch {
		case !hasBlobs && len(r.blobs) > 0:
			return errors.New("the run has blobs, and the store takes none: import it into one that is a runlog.Blobs")
		case !hasInbox && len(r.letters) > 0:
			return errors.New("the run has letters, and the store takes none: import it into one that is a runlog.Inbox")
		}
		recs = append(recs, r.recs...)
	}
	for _, r := range in.runs {
		for _, data := range r.blobs {
			if _, err := blobs.PutBlob(ctx, r.header.Run, data); err != nil {
				return err
			}
		}
	}
	if err := s.Append(ctx, recs); err != nil {
		return err
	}
	for _, r := range in.runs {
		for _, l := range r.letters {
			if err := inbox.Put(ctx, l); err != nil {
				return fmt.Errorf("the runs are in the store, but not all letters to them: delete %q and import it again: %w", in.runs[0].header.Run, err)
			}
		}
	}
	return nil
}

// check returns an error if s has the run already, or lacks the parent of a child that is
// not among known.
func (r *importedRun) check(ctx context.Context, s Store, known map[string]bool) error {
	switch _, err := s.Last(ctx, r.header.Run); {
	case err == nil:
		return fmt.Errorf("%w: run %q is in the store already", ErrConflict, r.header.Run)
	case !errors.Is(err, ErrNoRun):
		return err
	}
	if !strings.Contains(r.header.Run, "/") || known[r.listing.Parent] {
		return nil
	}
	if _, err := s.Last(ctx, r.listing.Parent); err != nil {
		return fmt.Errorf("the parent %q of run %q is neither in the file nor in the store: export the parent: %w", r.listing.Parent, r.header.Run, err)
	}
	return nil
}

// read reads an export to its end and checks it.
func (in *imported) read(r io.Reader) error {
	in.known = map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, math.MaxInt)
	n := 0
	for lines.Scan() {
		n++
		if err := in.line(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return errors.New("line 1: the header is missing")
	}
	if last := in.runs[len(in.runs)-1]; !last.whole() {
		return fmt.Errorf("line %d: the file ends after %d of %d records", n, last.listing.Next, last.header.Records)
	}
	if want := in.runs[0].header.Runs; len(in.runs) < want {
		return fmt.Errorf("line %d: the file ends after %d of %d runs", n, len(in.runs), want)
	}
	return nil
}

// whole reports whether all records of the run were read.
func (r *importedRun) whole() bool { return r.listing.Next == r.header.Records }

func (in *imported) line(line []byte) error {
	n := len(in.runs)
	if n == 0 || in.runs[n-1].whole() && n < in.runs[0].header.Runs {
		return in.readHeader(line)
	}
	r := in.runs[n-1]
	var l struct {
		Record
		Bytes  *[]byte     `json:"bytes"`
		Letter *letterLine `json:"letter"`
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
	case l.Bytes == nil && l.Letter == nil:
		if err := r.addRecord(l.Record); err != nil || !r.whole() {
			return err
		}
		return r.checkParent()
	case len(r.recs) > 0:
		return errors.New("a blob or a letter after the first record")
	case l.Letter != nil:
		r.letters = append(r.letters, Letter{Run: r.header.Run, Key: l.Letter.Key, Round: l.Letter.Round, Expired: l.Letter.Expired, Data: l.Letter.Data})
		return nil
	}
	r.blobs[l.Blob] = *l.Bytes
	return CheckBlob(r.header.Run, l.Blob, *l.Bytes)
}

func (in *imported) readHeader(line []byte) error {
	var h exportHeader
	err := json.Unmarshal(line, &h)
	switch {
	case err != nil || h.Format != exportFormat || h.Run == "" || h.Records < 1:
		return fmt.Errorf("not an exported run: want a header with the format %q, a run, and how many records it has", exportFormat)
	case h.Version < exportSingle || h.Version > exportVersion:
		return fmt.Errorf("the format has version %d, this program reads versions %d and %d", h.Version, exportSingle, exportVersion)
	case in.known[h.Run]:
		return fmt.Errorf("run %q is in the file twice", h.Run)
	}
	id, effects, _ := strings.Cut(h.Run, "/")
	if err := CheckID(id); err != nil {
		return fmt.Errorf("the ID of the run is %w", err)
	}
	if strings.Contains(h.Run, "/") {
		for effect := range strings.SplitSeq(effects, "/") {
			if !validEffect.MatchString(effect) || strings.Trim(effect, ".") == "" {
				return fmt.Errorf("the ID of the run is %q: want that of its parent, a slash, and a number in a branch", text.Shorten(h.Run, 128))
			}
		}
	}
	in.known[h.Run] = true
	in.runs = append(in.runs, &importedRun{header: h, blobs: map[string][]byte{}})
	return nil
}

// checkParent returns an error if the run has the ID of a child and is none.
func (r *importedRun) checkParent() error {
	if i := strings.LastIndex(r.header.Run, "/"); i >= 0 && r.listing.Parent != r.header.Run[:i] {
		return fmt.Errorf("run %q has the ID of a child of %q, and its parent is %q", r.header.Run, r.header.Run[:i], r.listing.Parent)
	}
	if len(r.letters) != r.header.Letters {
		return fmt.Errorf("run %q has %d letters, want %d", r.header.Run, len(r.letters), r.header.Letters)
	}
	return nil
}

func (r *importedRun) addRecord(rec Record) error {
	rec.At = rec.At.UTC()
	h, next, blob := r.header, r.listing.Next, r.blobs[rec.Blob]
	switch {
	case rec.Run != h.Run || rec.Seq != next || next == h.Records || r.listing.Ended:
		return fmt.Errorf("record %d of run %q is not the next of run %q, which has %d of %d, ended: %t", rec.Seq, rec.Run, h.Run, next, h.Records, r.listing.Ended)
	case rec.Kind == "" || next == 0 && rec.Kind != Started:
		return fmt.Errorf("the kind of record %d is %q", rec.Seq, rec.Kind)
	case rec.Blob != "" && blob == nil:
		return fmt.Errorf("the record's blob %q is not among the blobs before", rec.Blob)
	case rec.At.Year() < 0 || rec.At.Year() > 9999:
		return fmt.Errorf("the record's time is in year %d", rec.At.Year())
	}
	r.recs = append(r.recs, rec)
	return r.listing.Add(rec)
}
