package cassette

import (
	"sync"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
)

// Options say what is removed from texts. Record and play with the same ones, because
// calls are found by the resulting texts. The zero Options remove the keys that the
// models' openers were given, and texts that look like a vendor's key.
type Options struct {
	// Secrets are removed, too: keys of other services, names, whatever must not be in a
	// file. Those of less than 4 bytes are ignored.
	Secrets []string

	// Redact changes every text that is written, before keys are removed. It is applied
	// to its own results, which it must not change again. Safe for concurrent use; nil:
	// no change.
	Redact func(text string) string

	// Normalize changes the texts of requests, not those of answers, so that differences
	// between runs do not matter: dates, paths, random names. Safe for concurrent use;
	// nil: no change.
	Normalize func(text string) string

	// Unredacted writes texts with all keys in them, changed only by Redact and
	// Normalize. Secrets is ignored.
	Unredacted bool
}

// cleaner applies Options. Safe for concurrent use.
type cleaner struct {
	Options
	redactor redact.Redactor
	done     *sync.Map // clean texts by the original: a conversation repeats them at every turn
}

// with returns c that also removes the secrets of m.
func (c cleaner) with(m providers.Model) cleaner {
	knows, ok := m.(providers.Cleaner)
	if !ok || c.Unredacted {
		return c
	}
	redact := c.Redact
	c.done = new(sync.Map)
	c.Redact = func(text string) string {
		if redact != nil {
			text = redact(text)
		}
		return knows.Clean(text)
	}
	return c
}

func newCleaner(o Options) cleaner {
	return cleaner{o, redact.New(o.Secrets...), new(sync.Map)}
}
