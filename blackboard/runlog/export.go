package runlog

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// The versions of the format. The first has one run without letters.
const (
	exportFormat  = "convene-run"
	exportSingle  = 1
	exportVersion = 2
)

// exportHeader is the first line of what an export has of a run.
type exportHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Run     string `json:"run"`
	Records int64  `json:"records"`           // number of its records
	Letters int    `json:"letters,omitempty"` // number of its letters
	Runs    int    `json:"runs,omitempty"`    // in the first header: number of all runs; 0: one
}

// exportBlob is the line of a blob; Bytes are in base64.
type exportBlob struct {
	Blob  string `json:"blob"`
	Bytes []byte `json:"bytes"`
}

// exportLetter is the line of a letter.
type exportLetter struct {
	Letter letterLine `json:"letter"`
}

// letterLine is a Letter without its run.
type letterLine struct {
	Key     string          `json:"key"`
	Round   int             `json:"round,omitempty"`
	Expired bool            `json:"expired,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Export writes run, with all runs inside of it, to w as JSON lines. For each run there is
// a header that names the format, its version, the run and how many records follow; then
// the blobs of the run if s is [Blobs], the letters that were not taken if s is an
// [Inbox], then a record a line. The outermost run comes first.
//
// The runs may grow meanwhile: of each, Export writes the records that were there when it
// came to it, and of run those that were there when it began. A run without records is
// [ErrNoRun], a record whose blob is missing [ErrNoBlob]. What a run marks as secret is
// left out, with the letters to the run, unless at most one o wants it.
func Export(ctx context.Context, s Store, run string, w io.Writer, o ...ExportOptions) error {
	if len(o) > 1 {
		return fmt.Errorf("runlog: export run %q: got %d ExportOptions, want at most one", run, len(o))
	}
	x := exporter{store: s, secrets: len(o) == 1 && o[0].Secrets}
	if err := x.export(ctx, run, w); err != nil {
		return fmt.Errorf("runlog: export run %q: %w", run, err)
	}
	return nil
}

// exporter writes one run with all runs inside of it.
type exporter struct {
	store   Store
	lines   *json.Encoder
	secrets bool // texts that are secret are written, too
	alone   bool // no run is inside of it
}

func (x *exporter) export(ctx context.Context, run string, w io.Writer) error {
	last, err := x.store.Last(ctx, run) // first: what a child did later is no harm
	if err != nil {
		return err
	}
	runs, err := family(ctx, x.store, run)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	x.lines, x.alone = json.NewEncoder(buf), len(runs) == 1
	x.lines.SetEscapeHTML(false) // Data as it is
	for i, run := range runs {
		if i > 0 {
			if last, err = x.store.Last(ctx, run); err != nil {
				return err
			}
		}
		h := exportHeader{exportFormat, exportVersion, run, last.Seq + 1, 0, 0}
		if i == 0 && !x.alone {
			h.Runs = len(runs)
		}
		if err := x.run(ctx, h); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// family returns run and all runs inside of it, the outermost first.
func family(ctx context.Context, s Store, run string) ([]string, error) {
	runs, known := []string{run}, map[string]bool{run: true}
	for i := 0; i < len(runs) && run != ""; i++ { // the parent "" would select all
		for l, err := range s.List(ctx, Query{Parent: runs[i]}) {
			if err != nil {
				return nil, err
			}
			if !known[l.Run] {
				runs, known[l.Run] = append(runs, l.Run), true
			}
		}
	}
	return runs, nil
}

// run writes one run, in the first version of the format if it is alone and has no
// letters: programs of that version read it.
func (x *exporter) run(ctx context.Context, h exportHeader) (err error) {
	s, without := x.store, &withheld{}
	if !x.secrets {
		if without, err = withhold(ctx, s, h.Run); err != nil {
			return err
		}
	}
	var letters []exportLetter
	if len(without.records) == 0 {
		if letters, err = lettersOf(ctx, s, h.Run); err != nil {
			return err
		}
	}
	if h.Letters = len(letters); x.alone && h.Letters == 0 {
		h.Version = exportSingle
	}
	if err := x.lines.Encode(h); err != nil {
		return err
	}
	written, err := exportBlobs(ctx, s, h.Run, x.lines, without.blobs)
	for i := 0; i < len(letters) && err == nil; i++ {
		err = x.lines.Encode(letters[i])
	}
	if err != nil {
		return err
	}
	for r, err := range s.Records(ctx, h.Run, 0) {
		if err != nil {
			return err
		}
		r = without.record(r)
		if r.Blob != "" && !written[r.Blob] {
			return fmt.Errorf("record %d: %w: %q", r.Seq, ErrNoBlob, r.Blob)
		}
		if err := x.lines.Encode(r); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if r.Seq+1 == h.Records {
			return nil
		}
	}
	return fmt.Errorf("record %d is missing: the run was deleted meanwhile, or the store is damaged", h.Records-1)
}

// lettersOf returns the letters to run that were not taken.
func lettersOf(ctx context.Context, s Store, run string) (letters []exportLetter, err error) {
	in, ok := As[Inbox](s)
	if !ok {
		return nil, nil
	}
	for l, err := range in.Letters(ctx, run) {
		if err != nil {
			return nil, err
		}
		letters = append(letters, exportLetter{letterLine{l.Key, l.Round, l.Expired, l.Data}})
	}
	return letters, nil
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
