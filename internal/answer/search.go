package answer

import "strings"

const (
	// effort is how many bytes may be read for each byte of the text: broken JSON
	// inside broken JSON is read more than once.
	effort = 8

	// maxTries is how many values of the right kind are validated.
	maxTries = 256
)

// search looks for a value that fits in one text.
type search struct {
	shape *Shape
	text  string
	found Found

	cut   bool // the text ends inside a value
	ended bool // the text ends inside what may be a value
	tries int
	best  error // why the most promising value is not the answer
	flaw  *flaw // in place of best: that value is malformed
	score int   // of best or flaw
}

// fault says why nothing was found.
func (s *search) fault() error {
	switch {
	case s.cut:
		return ErrCut
	case s.flaw != nil: // told only now: to count lines takes time
		return s.flaw.in(s.text)
	case s.best != nil:
		return s.best
	case s.ended:
		return ErrCut
	default:
		return ErrNone
	}
}

// blame keeps the fault of a value that is no less promising than the others: err,
// or its flaw.
func (s *search) blame(err error, f *flaw, score int) {
	if score >= s.score {
		s.best, s.flaw, s.score = err, f, score
	}
}

// wholes tries the whole text and the fenced blocks, where a value may be bare.
// What begins with a bracket is left to regions, if the shape has any.
func (s *search) wholes() bool {
	if s.whole(s.text) {
		return true
	}
	rest := s.text
	for {
		_, after, ok := strings.Cut(rest, "```")
		if !ok || s.tries >= maxTries {
			return false
		}
		_, body, ok := strings.Cut(after, "\n") // past the language
		if !ok {
			return false
		}
		block, next, closed := strings.Cut(body, "```")
		if closed && s.whole(block) {
			return true
		}
		rest = next
	}
}

func (s *search) whole(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || !bare(text[0]) && (s.shape.holds() || !bracket(text[0])) {
		return false
	}
	p := parser{text: text}
	v, f := p.whole()
	if f == nil {
		return s.try(v, &p)
	}
	s.ended = s.ended || f.cut
	return false
}

// bare reports whether a string, number, boolean or null may begin with c.
func bare(c byte) bool {
	return c == '"' || c == '-' || isDigit(c) || strings.IndexByte("tfnTFN", c) >= 0
}

func bracket(c byte) bool { return c == '{' || c == '[' }

// regions tries the objects and lists in the text, the outermost of those inside
// each other. What is inside a broken one is not an answer.
func (s *search) regions() bool {
	work := effort*len(s.text) + 1024
	for at := 0; work > 0 && s.tries < maxTries; {
		next := strings.IndexAny(s.text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		p := parser{text: s.text, at: at}
		v, f := p.value()
		work -= p.at - at
		if f == nil {
			if s.try(v, &p) {
				return true
			}
			at = p.at
			continue
		}
		end, ok := s.after(f, &p)
		if !ok {
			return false
		}
		work -= max(0, end-p.at)
		at = max(at+1, end)
	}
	return false
}

// after notes a flaw and returns where to look on, or false if all that follows
// belongs to the broken value.
func (s *search) after(f *flaw, p *parser) (int, bool) {
	switch {
	case f.cut && p.certain:
		s.cut = true
		return 0, false
	case f.cut: // by a quote or comment that may be none
		s.ended = true
		return 0, true
	case !p.certain: // prose, with no object or list in it so far
		return p.at, true
	}
	s.blame(nil, f, 1+2*s.shape.known(p.root))
	return skip(s.text, p.at, p.depth)
}

// skip returns the end of a broken value: where its open brackets are closed.
func skip(text string, at, depth int) (int, bool) {
	quoted := false
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\\' && quoted:
			at++
		case c == '"':
			quoted = !quoted
		case c == '\n':
			quoted = false // such a quote was not the beginning of a string
		case quoted:
		case bracket(c):
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return at + 1, true
			}
		}
	}
	return at, false
}

// try reports whether v, which p read, fits.
func (s *search) try(v any, p *parser) bool {
	score := 0 // for a value of another kind, which may still be converted
	if fits(s.shape.root(), v) {
		object, _ := v.(map[string]any)
		score = 2 + 2*s.shape.known(object)
	} else if p.certain && (s.best != nil || s.flaw != nil) {
		return false // an object or a list is never converted: its fault says nothing new
	}
	s.tries++
	found, err := s.shape.fit(v)
	if err != nil {
		s.blame(err, nil, score)
		return false
	}
	s.found = found
	return true
}
