package main

import "github.com/convene-go/convene/grading"

// facets are the four dimensions of a researched article, 0 to 1 each.
type facets struct {
	Article float64 `json:"article"` // completeness, structure, length
	Source  float64 `json:"source"`  // number against the minimum, diversity, citations
	Factual float64 `json:"factual"` // claims that were verified, no contradictions
	Writing float64 `json:"writing"` // grammar, readability, tone
}

// share is a part of a whole, from 0 to 1. It is 1 if the whole is 0 or less; a negative part
// counts as 0, one above the whole as the whole.
type share struct{ part, whole int }

func (s share) value() float64 {
	if s.whole <= 0 {
		return 1
	}
	return clip(float64(s.part) / float64(s.whole))
}

// articleQuality is the mean of three shares, 0 to 1: sections covered of those
// expected, words of the target, and parts of the structure (introduction, body,
// conclusion) of three.
func articleQuality(sections, words share, parts int) float64 {
	return mean(sections.value(), words.value(), share{parts, 3}.value())
}

// sourceQuality is the mean of three shares, 0 to 1: sources of those needed, kinds of
// those possible, and correct citations of all.
func sourceQuality(sources, kinds, citations share) float64 {
	return mean(sources.value(), kinds.value(), citations.value())
}

// factualQuality is the share of claims that were verified, less those that
// contradict each other, 0 to 1. Without claims it is 0.
func factualQuality(verified, contradictions, claims int) float64 {
	if claims <= 0 {
		return 0
	}
	return grading.Round6(share{verified - max(contradictions, 0), claims}.value())
}

// writingQuality is the mean of three figures of 0 to 1. One outside of that is taken
// as the nearest bound, one that is not a number as 0.
func writingQuality(grammar, readability, tone float64) float64 {
	return mean(clip(grammar), clip(readability), clip(tone))
}

func clip(x float64) float64 {
	if !(x > 0) { // NaN becomes 0, too
		return 0
	}
	return min(x, 1)
}

func mean(a, b, c float64) float64 { return grading.Round6((a + b + c) / 3) }
