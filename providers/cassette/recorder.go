package cassette

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/convene-go/convene/providers"
)

// Recorder writes the calls of models to a cassette. Create it with [Record]. It is safe
// for concurrent use.
type Recorder struct {
	clean cleaner

	mu    sync.Mutex
	file  *os.File
	known map[again]line // calls that may be repeated
	err   error          // why a call could not be written
}

// again identifies a repeated call: by its providers.WithKey, and by line.Key.
type again struct{ call, key string }

// Record starts a cassette at path and replaces an existing one. However the process
// ends, calls that were answered before can be played.
func Record(path string, o Options) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return nil, fmt.Errorf("cassette: record: %w", err)
	}
	if err := f.Chmod(mode); err != nil { // it was there
		return nil, fmt.Errorf("cassette: record: %w", errors.Join(err, f.Close()))
	}
	return &Recorder{clean: newCleaner(o), file: f, known: map[again]line{}}, nil
}

const mode = 0o600

// Model returns m under a name and records every call that m answers or fails, except
// those that the caller cancels. Calls are found by the name.
//
// It returns what will be played: without keys and without the cause of an error. OnText
// gets m's own text, which is not recorded. A call that cannot be written, or contains a
// secret in spite of redaction, is an error of kind Permanent.
//
// The keys that m's opener was given are removed without being listed, if m is a
// [providers.Cleaner], as the models of this library are.
//
// A repeated call, see [providers.WithKey], gets what was recorded.
func (r *Recorder) Model(name string, m providers.Model) providers.Model {
	rec := recording{r, name, m, r.clean.with(m)}
	if p, ok := m.(providers.Priced); ok {
		return pricedRecording{rec, p}
	}
	return rec
}

// Open returns an opener for [providers.NewRoles], whose models are those of open,
// recorded under the names of their Specs.
func (r *Recorder) Open(open func(providers.Spec) (providers.Model, error)) func(providers.Spec) (providers.Model, error) {
	return func(s providers.Spec) (providers.Model, error) {
		m, err := open(s)
		if err != nil || m == nil {
			return nil, err
		}
		return r.Model(s.String(), m), nil
	}
}

// Close ends the recording; no model may be in use. It returns why calls could not be
// recorded, if any could not.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.err, r.file.Close()); err != nil {
		return fmt.Errorf("cassette: record: %w", err)
	}
	return nil
}

// before returns the line of a repeated call.
func (r *Recorder) before(id again) (line, bool) {
	if id.call == "" {
		return line{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.known[id]
	return l, ok
}

// write appends l to the cassette in one write, so that lines do not mix and a process
// that dies leaves complete lines.
func (r *Recorder) write(id again, l line, clean cleaner) error {
	data, err := marshal(l)
	if err == nil {
		err = clean.check(l)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err != nil {
		what := fmt.Sprintf("a call of model %q", l.Model)
		if l.List != "" {
			what = fmt.Sprintf("the tools %q", l.List)
		}
		r.err = errors.Join(r.err, fmt.Errorf("%s: %w", what, err))
		return err
	}
	if id.call != "" {
		r.known[id] = l
	}
	return nil
}

// recording is a model whose calls are recorded.
type recording struct {
	r     *Recorder
	name  string
	m     providers.Model
	clean cleaner // a cleaner that knows m's secrets
}

// pricedRecording is a recording of a model that implements Priced.
type pricedRecording struct {
	recording
	of providers.Priced
}

// Priced says whether the model is priced.
func (p pricedRecording) Priced() bool { return p.of.Priced() }

// Generate calls the model and records the result.
func (r recording) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	l, err := r.clean.ask(r.name, req)
	if err != nil {
		return providers.Response{}, &providers.Error{Kind: providers.Invalid, Model: r.name, Message: err.Error(), Err: err}
	}
	id := again{providers.KeyFrom(ctx), l.Key}
	if known, ok := r.r.before(id); ok {
		return tell(ctx, known, req.OnText)
	}
	resp, err := r.m.Generate(ctx, req)
	usage := resp.Usage
	switch {
	case err == nil:
		l.Resp = r.clean.answered(resp)
	case gaveUp(ctx, err):
		return providers.Response{}, err
	default:
		l.Err = r.clean.failed(err)
		usage = l.Err.Usage
	}
	if err := r.r.write(id, l, r.clean); err != nil {
		return providers.Response{}, &providers.Error{
			Kind: providers.Permanent, Model: l.Model, Message: "the call cannot be recorded: " + err.Error(), Usage: usage, Err: err,
		}
	}
	return l.play()
}

// gaveUp tells whether a call failed because its caller canceled it.
func gaveUp(ctx context.Context, err error) bool {
	var e *providers.Error
	return ctx.Err() != nil || errors.As(err, &e) && e.Kind == providers.Canceled
}
