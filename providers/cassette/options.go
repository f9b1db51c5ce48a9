package cassette

import (
	"sync"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
)

// Options say what is taken out of texts. Record and play with the same ones: by
// them calls are found again. The zero Options take out the keys that the models'
// openers were given, and what looks like a vendor's key.
type Options struct {
	// Secrets are taken out too: keys of other services, names, whatever must not be in a file.
	// Those of less than 4 bytes are not looked for.
	Secrets []string

	// Redact changes every text that is written, before keys are taken out. It is
	// applied to its own results, which it must not change again. Safe for
	// concurrent use; nil: it changes nothing.
	Redact func(text string) string

	// Normalize changes the texts of requests, not those of answers, so that what
	// differs from run to run does not matter: dates, paths, random names. Safe for
	// concurrent use; nil: it changes nothing.
	Normalize func(text string) string

	// Unredacted writes texts as they are, but for Redact and Normalize: with all
	// keys that are in them. Secrets are not looked at.
	Unredacted bool
}

// cleaner applies Options. Safe for concurrent use.
type cleaner struct {
	Options
	redactor redact.Redactor
	done     *sync.Map // texts by what they were: a conversation has them at every turn
}

// with returns c that takes out what m knows of secrets, too.
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
