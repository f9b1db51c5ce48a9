package grading

// Facets are the four dimensions of a researched article, 0 to 1 each.
type Facets struct {
	Article float64 `json:"article"` // completeness, structure, length
	Source  float64 `json:"source"`  // number against the minimum, diversity, citations
	Factual float64 `json:"factual"` // claims that were verified, no contradictions
	Writing float64 `json:"writing"` // grammar, readability, tone
}

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
