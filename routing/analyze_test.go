package routing_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

// plain returns a brief of n words that match no rule.
func plain(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func TestComplexity(t *testing.T) {
	tests := []struct {
		name, text string
		words      int
		want       routing.Complexity
		estimate   int
	}{
		{"HA26 49 words", plain(49), 49, routing.Simple, 1},
		{"HA26 50 words", plain(50), 50, routing.Moderate, 2},
		{"HA26 100 words", plain(100), 100, routing.Moderate, 2},
		{"HA26 101 words", plain(101), 101, routing.Complex, 4},
		{"HA27 bread theft", breadTheft, 9, routing.Simple, 1},
		{"HA27 complex term", "a detailed hat", 3, routing.Complex, 4},
		{"HA27 and is no marker", "brand new hand", 3, routing.Simple, 1},
		{"H25 no words", "", 0, routing.Simple, 1},
		{"H25 marks alone are no words", "- — ... !", 0, routing.Simple, 1},
		{"H25 a hyphenated word is one", "a well-known 3.5-litre o’clock", 4, routing.Simple, 1},
		{"H26 any white space separates", "a\tb\nc\u00a0d", 4, routing.Simple, 1},
		{"H27 200 words", plain(200), 200, routing.Complex, 4},
		{"H28 a term beats the length", "Complex", 1, routing.Complex, 4},
		{"H28 a term in a moderate brief", plain(60) + " elaborate", 61, routing.Complex, 4},
		{"H29 a marker beats the length", "A hat. Also a coat.", 5, routing.Complex, 4},
		{"HC8 a marker in a moderate brief is complex, not moderate", plain(60) + " also", 61, routing.Complex, 4},
		{"HC10 comprehensive", "a comprehensive hat", 3, routing.Complex, 4},
		{"HC10 elaborate", "an elaborate hat", 3, routing.Complex, 4},
		{"HC10 complex", "a complex hat", 3, routing.Complex, 4},
		{"HC10 no part of a word", "a complexion, elaborated and undetailed", 5, routing.Simple, 1},
		{"HC10 additionally", "a hat, additionally a coat", 5, routing.Complex, 4},
		{"HC10 furthermore", "a hat; furthermore a coat", 5, routing.Complex, 4},
		{"HC10 moreover", "a hat; MOREOVER a coat", 5, routing.Complex, 4},
		{"HC10 as well as", "a hat as well as a coat", 7, routing.Complex, 4},
		{"HC10 as well alone", "a hat and a coat as well", 7, routing.Simple, 1},
		{"HC10 a bare and", "a hat and a coat", 5, routing.Simple, 1},
		{"HC10 one list line", "draw:\n- a hat", 3, routing.Simple, 1},
		{"HC10 two list lines", "draw:\n- a hat\n- a coat", 5, routing.Complex, 4},
		{"HC10 stars, indented, with other line ends", "\t* hat\r\n  * coat\r\n", 2, routing.Complex, 4},
		{"HC10 numbers", "1. hat\n12. coat", 4, routing.Complex, 4},
		{"HC10 different markers", "- hat\n1. coat", 3, routing.Complex, 4},
		{"HC10 empty list lines", "-\n- \n*", 0, routing.Simple, 1},
		{"HC10 no list: bold, rules, negative and decimal numbers", "**hat**\n---\n-5 a\n1.5 b\n. c\n. e\nx. d", 9, routing.Simple, 1},
		{"HC10 a marker within a line", "hat - coat\ncoat - hat", 4, routing.Simple, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := routing.Rules{}.Analyze(tt.text, nil)
			assert.Equal(t, tt.words, got.Words)
			assert.Equal(t, tt.want, got.Complexity)
			assert.Equal(t, tt.estimate, got.Estimate)
		})
	}
}

func TestAnalyze(t *testing.T) {
	films := routing.Rules{
		Skills:   []string{"plot", "Voice Acting", "theme", "plot", "Plot"},
		Synonyms: map[string][]string{"VOICE_acting": {"dubbing", "sound-over"}, "voice acting": {"lip sync"}, "cooking": {"bread"}},
	}
	tests := []struct {
		name, text string
		rules      routing.Rules
		want       routing.Analysis
	}{
		{
			"H24 all of it", "A detailed plot; also a COMPLEX theme", films,
			routing.Analysis{Words: 7, Complexity: routing.Complex, MultiPart: true, ComplexTerms: []string{"complex", "detailed"}, Skills: []string{"Plot", "theme"}, Estimate: 4},
		},
		{
			"HC36 skills as whole words, sorted, once", "themes and the theme of the plot", films,
			routing.Analysis{Words: 7, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{"Plot", "theme"}, Estimate: 1},
		},
		{
			"HC36 a skill of two words", "needs VOICE acting", films,
			routing.Analysis{Words: 3, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{"Voice Acting"}, Estimate: 1},
		},
		{
			"HC36 a synonym", "needs sound over bread", films,
			routing.Analysis{Words: 4, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{"Voice Acting"}, Estimate: 1},
		},
		{
			"HC36 synonyms under two spellings of a skill", "dubbing", films,
			routing.Analysis{Words: 1, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{"Voice Acting"}, Estimate: 1},
		},
		{
			"HC36 a synonym under another spelling", "lip-sync", films,
			routing.Analysis{Words: 1, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{"Voice Acting"}, Estimate: 1},
		},
		{
			"HC36 no skills", "a plot",
			routing.Rules{},
			routing.Analysis{Words: 2, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{}, Estimate: 1},
		},
		{
			"HC10 own complex terms replace the defaults", "a detailed, very hard plot",
			routing.Rules{ComplexTerms: []string{"very hard"}},
			routing.Analysis{Words: 5, Complexity: routing.Complex, ComplexTerms: []string{"very hard"}, Skills: []string{}, Estimate: 4},
		},
		{
			"HC10 own markers replace the defaults", "a hat, also a coat plus a scarf",
			routing.Rules{MultiPart: []string{"plus"}},
			routing.Analysis{Words: 8, Complexity: routing.Complex, MultiPart: true, ComplexTerms: []string{}, Skills: []string{}, Estimate: 4},
		},
		{
			"HC10 empty lists switch the rules off", "a detailed hat, also a coat",
			routing.Rules{ComplexTerms: []string{}, MultiPart: []string{}},
			routing.Analysis{Words: 6, Complexity: routing.Simple, ComplexTerms: []string{}, Skills: []string{}, Estimate: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.rules.Analyze(tt.text, nil))
		})
	}
	t.Run("H24 as JSON", func(t *testing.T) {
		got, err := json.Marshal(routing.Rules{}.Analyze("a hat", nil))
		require.NoError(t, err)
		assert.JSONEq(t, `{"words":2,"complexity":"simple","multiPart":false,"complexTerms":[],"skills":[],"estimate":1}`, string(got))
	})
}

func TestEstimate(t *testing.T) {
	own := routing.Rules{Specialists: routing.SpecialistCount{Simple: 7, Moderate: 8, Complex: 9}}
	tests := []struct {
		name  string
		words int
		rules routing.Rules
		want  int
	}{
		{"HC8 simple", 1, routing.Rules{}, 1},
		{"HC8 moderate", 50, routing.Rules{}, 2},
		{"HC8 complex", 101, routing.Rules{}, 4},
		{"HC8 own simple", 1, own, 7},
		{"HC8 own moderate", 50, own, 8},
		{"HC8 own complex", 101, own, 9},
		{"HC8 a count left out has its default", 101, routing.Rules{Specialists: routing.SpecialistCount{Moderate: 3}}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.rules.Analyze(plain(tt.words), nil).Estimate)
		})
	}
}

func TestRulesValidate(t *testing.T) {
	tests := []struct {
		name  string
		rules routing.Rules
		want  string
	}{
		{"HC10 complex term without a word", routing.Rules{ComplexTerms: []string{"big", " "}}, `routing: rules: ComplexTerms[1] is " ", which holds no word`},
		{"HC10 marker without a word", routing.Rules{MultiPart: []string{"&"}}, `routing: rules: MultiPart[0] is "&", which holds no word`},
		{"HC36 skill without a word", routing.Rules{Skills: []string{""}}, `routing: rules: Skills[0] is "", which holds no word`},
		{"HC36 synonym without a word", routing.Rules{Synonyms: map[string][]string{"plot": {"story", "?"}}}, `routing: rules: Synonyms["plot"][1] is "?", which holds no word`},
		{"HC8 negative simple", routing.Rules{Specialists: routing.SpecialistCount{Simple: -1}}, "routing: rules: Specialists.Simple is -1, want 0 or more"},
		{"HC8 negative moderate", routing.Rules{Specialists: routing.SpecialistCount{Moderate: -2}}, "routing: rules: Specialists.Moderate is -2, want 0 or more"},
		{"HC8 negative complex, after other faults", routing.Rules{Skills: []string{"-"}, Specialists: routing.SpecialistCount{Complex: -3}}, "routing: rules: Skills[0] is \"-\", which holds no word\nSpecialists.Complex is -3, want 0 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.EqualError(t, tt.rules.Validate(), tt.want)
		})
	}
	t.Run("HC10 the zero value is valid", func(t *testing.T) { require.NoError(t, routing.Rules{}.Validate()) })
}

func TestAnalyzeLaws(t *testing.T) {
	t.Run("HC8 more text is no simpler", rapid.MakeCheck(func(t *rapid.T) {
		rank := []routing.Complexity{routing.Simple, routing.Moderate, routing.Complex}
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"hat", "detailed", "also", "\n- x", "coat"}), 0, 120)
		a, b := strings.Join(text.Draw(t, "a"), " "), strings.Join(text.Draw(t, "b"), " ")
		less := routing.Rules{}.Analyze(a, nil)
		more := routing.Rules{}.Analyze(a+" "+b, nil)
		assert.LessOrEqual(t, slices.Index(rank, less.Complexity), slices.Index(rank, more.Complexity))
		assert.LessOrEqual(t, less.Estimate, more.Estimate)
	}))
	t.Run("HC36 the order of skills does not matter", rapid.MakeCheck(func(t *rapid.T) {
		skills := []string{"Plot", "plot", "voice acting", "Voice-Acting", "theme"}
		shuffled := rapid.Permutation(skills).Draw(t, "skills")
		got := routing.Rules{}.Analyze("plot, voice acting", shuffled)
		assert.Equal(t, []string{"Plot", "Voice-Acting"}, got.Skills)
	}))
}

func FuzzAnalyze(f *testing.F) {
	f.Add(breadTheft, "plot", "bread")
	f.Add("- a\n* b\n1. c also", "also", "")
	f.Add("as well as ❤\ufe0fcomplex \u0345\xff", "\u0345", "\xff")
	f.Fuzz(func(t *testing.T, text, skill, synonym string) {
		rules := routing.Rules{Skills: []string{skill, "plot"}, Synonyms: map[string][]string{skill: {synonym}}}
		got := rules.Analyze(text, nil)
		if got.Words < 0 || got.Words > len(text) {
			t.Errorf("Analyze(%q) counts %d words", text, got.Words)
		}
		if want := map[routing.Complexity]int{routing.Simple: 1, routing.Moderate: 2, routing.Complex: 4}[got.Complexity]; got.Estimate != want {
			t.Errorf("Analyze(%q) = %s with %d specialists, want %d", text, got.Complexity, got.Estimate, want)
		}
		if !slices.IsSorted(got.Skills) || !slices.IsSorted(got.ComplexTerms) {
			t.Errorf("Analyze(%q) is not sorted: %+v", text, got)
		}
		for _, same := range []string{text, otherCase(text)} {
			if again := rules.Analyze(same, nil); !assert.ObjectsAreEqual(got, again) {
				t.Errorf("Analyze(%q) = %+v, Analyze(%q) = %+v", text, got, same, again)
			}
		}
	})
}
