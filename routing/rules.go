package routing

import (
	"cmp"
	"errors"
	"fmt"
)

// Rules are the [Analyzer] by words. The zero value has the defaults and no skills.
// All phrases are matched as Keyword matches keywords.
type Rules struct {
	// ComplexTerms make a brief complex whatever its length. Nil means complex,
	// detailed, comprehensive and elaborate; an empty slice means none.
	ComplexTerms []string `json:"complexTerms,omitzero"`

	// MultiPart marks a brief that asks for several things. Nil means also,
	// additionally, furthermore, moreover and "as well as"; an empty slice means
	// none. Two list lines count in any case.
	MultiPart []string `json:"multiPart,omitzero"`

	// Specialists is how many specialists each complexity is worth.
	Specialists SpecialistCount `json:"specialists,omitzero"`

	// Skills are the names of the skills to look for, as a rule those of the
	// candidates. Names that are the same words count once.
	Skills []string `json:"skills,omitzero"`

	// Synonyms maps the name of a skill to other phrases that stand for it. Names
	// that are not in Skills are not looked for.
	Synonyms map[string][]string `json:"synonyms,omitzero"`
}

// SpecialistCount is how many specialists each complexity is worth, 1 or more.
// Zero means 1 for Simple, 2 for Moderate, 4 for Complex.
type SpecialistCount struct {
	Simple   int `json:"simple,omitempty"`
	Moderate int `json:"moderate,omitempty"`
	Complex  int `json:"complex,omitempty"`
}

func (s SpecialistCount) of(c Complexity) int {
	switch c {
	case Moderate:
		return cmp.Or(s.Moderate, 2)
	case Complex:
		return cmp.Or(s.Complex, 4)
	case Simple:
	}
	return cmp.Or(s.Simple, 1)
}

var (
	defaultComplexTerms = []string{"complex", "detailed", "comprehensive", "elaborate"}
	defaultMultiPart    = []string{"also", "additionally", "furthermore", "moreover", "as well as"}
)

func (r Rules) withDefaults() Rules {
	if r.ComplexTerms == nil {
		r.ComplexTerms = defaultComplexTerms
	}
	if r.MultiPart == nil {
		r.MultiPart = defaultMultiPart
	}
	return r
}

// Validate returns every problem of r in one error that names the field, or nil:
// phrases without a word, which never match, and negative numbers of specialists.
func (r Rules) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	wordless := func(field string, phrases []string) {
		for i, p := range phrases {
			if phraseKey(p) == "" {
				bad("%s[%d] is %q, which holds no word", field, i, p)
			}
		}
	}
	wordless("ComplexTerms", r.ComplexTerms)
	wordless("MultiPart", r.MultiPart)
	wordless("Skills", r.Skills)
	for _, skill := range sortedKeys(r.Synonyms) {
		wordless(fmt.Sprintf("Synonyms[%q]", skill), r.Synonyms[skill])
	}
	counts := []struct {
		field string
		n     int
	}{
		{"Simple", r.Specialists.Simple},
		{"Moderate", r.Specialists.Moderate},
		{"Complex", r.Specialists.Complex},
	}
	for _, c := range counts {
		if c.n < 0 {
			bad("Specialists.%s is %d, want 0 or more", c.field, c.n)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("routing: rules: %w", errors.Join(faults...))
}
