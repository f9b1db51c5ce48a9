package grading

import (
	"errors"
	"fmt"
	"math"
)

// Facets are the four dimensions of a researched article, 0 to 1 each.
type Facets struct {
	Article float64 `json:"article"` // completeness, structure, length
	Source  float64 `json:"source"`  // number against the minimum, diversity, citations
	Factual float64 `json:"factual"` // claims that were verified, no contradictions
	Writing float64 `json:"writing"` // grammar, readability, tone
}

// Weights say what each of the [Facets] counts. None is negative and their sum is
// above 0: only their proportions matter.
type Weights Facets

// DefaultWeights are those of the research team.
var DefaultWeights = Weights{Article: 0.30, Source: 0.25, Factual: 0.25, Writing: 0.20}

// Overall returns the weighted mean of f, 0 to 1, rounded to six decimals. A facet
// outside 0 to 1, a weight below 0, one of them that is not a number, and weights whose
// sum is not above 0 are errors that name them; nothing is clamped.
func Overall(f Facets, w Weights) (float64, error) {
	var errs []error
	sum, total := 0.0, 0.0
	for _, part := range []struct {
		name          string
		value, weight float64
	}{
		{"article", f.Article, w.Article},
		{"source", f.Source, w.Source},
		{"factual", f.Factual, w.Factual},
		{"writing", f.Writing, w.Writing},
	} {
		if !isShare(part.value) {
			errs = append(errs, fmt.Errorf("%s is %v, want 0 to 1", part.name, part.value))
		}
		if !(part.weight >= 0) || math.IsInf(part.weight, 0) { // also refuses NaN
			errs = append(errs, fmt.Errorf("the weight of %s is %v, want 0 or more", part.name, part.weight))
		}
		sum += part.value * part.weight
		total += part.weight
	}
	if len(errs) == 0 && total <= 0 {
		errs = append(errs, errors.New("all weights are 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("grading: %w", err)
	}
	return Round6(sum / total), nil
}

func isShare(x float64) bool { return x >= 0 && x <= 1 } // NaN is not

// Share is Part of Whole, from 0 to 1. It is 1 if Whole is 0 or less; a negative Part
// counts as 0, one above Whole as Whole.
type Share struct{ Part, Whole int }

func (s Share) value() float64 {
	if s.Whole <= 0 {
		return 1
	}
	return clip(float64(s.Part) / float64(s.Whole))
}

// ArticleQuality is the mean of three shares, 0 to 1: sections covered of those
// expected, words of the target, and parts of the structure (introduction, body,
// conclusion) of three.
func ArticleQuality(sections, words Share, parts int) float64 {
	return mean(sections.value(), words.value(), Share{parts, 3}.value())
}

// SourceQuality is the mean of three shares, 0 to 1: sources of those needed, kinds of
// those possible, and correct citations of all.
func SourceQuality(sources, kinds, citations Share) float64 {
	return mean(sources.value(), kinds.value(), citations.value())
}

// FactualQuality is the share of claims that were verified, less those that
// contradict each other, 0 to 1. Without claims it is 0.
func FactualQuality(verified, contradictions, claims int) float64 {
	if claims <= 0 {
		return 0
	}
	return Round6(Share{verified - max(contradictions, 0), claims}.value())
}

// WritingQuality is the mean of three figures of 0 to 1. One outside of that is taken
// as the nearest bound, one that is not a number as 0.
func WritingQuality(grammar, readability, tone float64) float64 {
	return mean(clip(grammar), clip(readability), clip(tone))
}

func clip(x float64) float64 {
	if !(x > 0) { // also catches NaN
		return 0
	}
	return min(x, 1)
}

func mean(a, b, c float64) float64 { return Round6((a + b + c) / 3) }

// readingSpeed is in words a minute.
const readingSpeed = 200

// ReadingMinutes is how long a text of so many words takes to read: at least 1 minute.
func ReadingMinutes(words int) int { return max(words/readingSpeed, 1) }
