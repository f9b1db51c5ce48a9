package answer

import (
	"errors"
	"strings"
)

// effort is how many bytes may be read for each byte of the text: what begins as JSON
// and ends nowhere is read again from its next bracket on.
const effort = 8

// search looks for a value that fits.
type search struct {
	*reading

	found any
	err   error // error about the most promising value so far
	score int   // promise of that value: 1 if it is malformed or of the right kind, 1 more for each known field

	// The most promising value that fits, but not exactly. It counts if none fits exactly.
	nearly  any
	without []string // names of fields that were dropped from it
	promise int      // its promise; 0: there is none
}

func (r *reading) search(text string) (any, error) {
	s := search{reading: r, err: ErrNone}
	if s.bare(text) || s.brackets(text) {
		return s.found, nil
	}
	if s.promise > 0 && !errors.Is(s.err, ErrCut) {
		r.dropped = s.without
		return s.nearly, nil
	}
	return nil, s.err
}

// bare tries the whole text and its closed fenced blocks, where one is a string, number,
// boolean or null.
func (s *search) bare(text string) bool {
	blocks, parts := []string{text}, strings.Split(text, "```")
	for i := 1; i < len(parts)-1; i += 2 {
		_, block, _ := strings.Cut(parts[i], "\n") // past the language
		blocks = append(blocks, block)
	}
	for _, block := range blocks {
		block = strings.TrimSpace(block)
		if block == "" || strings.IndexByte(`"-0123456789tfnTFN`, block[0]) < 0 {
			continue
		}
		v, wrong := (&parser{text: block}).whole()
		switch {
		case wrong == nil && s.try(v):
			return true
		case wrong != nil && wrong.cut:
			s.blame(ErrCut, 0)
		}
	}
	return false
}

// brackets tries the objects and lists in the text, the outermost of those inside
// each other. What is inside a broken one is not an answer.
func (s *search) brackets(text string) bool {
	p := &parser{text: text}
	for work := effort*len(text) + 1024; work > 0; {
		next := strings.IndexAny(text[p.at:], "{[")
		if next < 0 {
			break
		}
		start := p.at + next
		p = &parser{text: text, at: start}
		v := p.value()
		work -= p.at - start
		switch {
		case p.wrong == nil:
			if s.try(v) {
				return true
			}
		case p.certain && p.wrong.cut:
			s.err = ErrCut
			return false
		case p.certain:
			s.blame(p.wrong, 1)
			p.skip()
		case p.wrong.cut: // a quote or comment that may be none cut it off
			s.blame(ErrCut, 0)
			p.at = start + 1
		}
		p.at = max(p.at, start+1)
	}
	return false
}

// try reports whether v fits.
func (s *search) try(v any) bool {
	found, exact, err := s.accept(v)
	switch {
	case err == nil && exact:
		s.found = found
		return true
	case err != nil:
		s.blame(err, s.promises(v))
	case s.promises(found) > s.promise:
		s.nearly, s.without, s.promise = found, s.dropped, s.promises(found)
	}
	return false
}

// promises returns how promising a value is: see search.score.
func (s *search) promises(v any) (score int) {
	root := s.deref(s.schema, v)
	if fits(v, root) {
		score = 1
	}
	object, _ := v.(map[string]any)
	for name := range root.Properties {
		if _, ok := object[name]; ok {
			score++
		}
	}
	return score
}

// blame keeps an error about a value that is no less promising than the others.
func (s *search) blame(err error, score int) {
	if score >= s.score {
		s.err, s.score = err, score
	}
}
