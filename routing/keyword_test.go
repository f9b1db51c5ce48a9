package routing_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/routing"
)

func TestKeyword(t *testing.T) {
	tests := []struct {
		name, prompt, keyword string
		want                  bool
	}{
		{"H11 a word", "a new story here", "story", true},
		{"H11 any case", "A NEW Story", "sTORY", true},
		{"H11 no part of a word", "brand new storyboard", "story", false},
		{"H11 no part of a word at its end", "brand", "and", false},
		{"H11 an end of text", "story", "story", true},
		{"H11 punctuation around", "(story), please", "story", true},
		{"H11 possessive", "Aladdin's bread", "aladdin", true},
		{"H11 possessive with a typographic apostrophe", "Aladdin’s bread", "aladdin", true},
		{"H11 apostrophe in the keyword", "they don't talk", "don't", true},
		{"H11 hyphen", "a story-driven film", "story", true},
		{"H11 underscore separates", "check image_quality now", "image", true},
		{"H11 underscore in the keyword", "check image_quality now", "image_quality", true},
		{"H11 underscore for a space", "the image quality", "image_quality", true},
		{"H11 space for an underscore", "the image_quality", "image quality", true},
		{"H11 phrase", "as well as a song", "as well as", true},
		{"H11 phrase with other spaces", "as  well\nas", "as well as", true},
		{"H11 phrase in another order", "well as as", "as well as", false},
		{"H11 phrase with a gap", "as well, or as", "as well as", false},
		{"H11 phrase cut off", "as well", "as well as", false},
		{"H11 phrase at a later place", "as well and as well as", "as well as", true},
		{"H11 digits", "episode 12", "12", true},
		{"H11 no part of a number", "episode 12", "1", false},
		{"H11 digits and letters are one word", "scene12", "scene", false},
		{"H11 umlauts in any case", "GRÖSSE und Ärger", "ärger", true},
		{"H11 Greek final sigma", "ΛΌΓΟΣ", "λόγος", true},
		{"H11 accents count", "the cafe", "café", false},
		{"H11 a mark belongs to its word", "cafe\u0301 noir", "cafe", false},
		{"N20 an accent of its own in the prompt", "the cafe\u0301 noir", "café", true},
		{"N20 an accent of its own in the keyword", "THE CAFÉ NOIR", "cafe\u0301 noir", true},
		{"N20 an accent of its own, and another case", "CAFE\u0301", "café", true},
		{"N20 marks in another order", "s\u0307\u0323", "ṩ", true},
		{"N20 a letter whose capital is two runes", "J\u030cx", "ǰX", true},
		{"N20 Hangul in letters", "\u1112\u1161\u11ab", "한", true},
		{"N20 a sign that is a letter", "5 \u212b", "å", true},
		{"H11 Cyrillic", "Новая сцена", "СЦЕНА", true},
		{"H11 a letter of another script belongs to the word", "x中文", "x中文", true},
		{"H11 a word behind an emoji", "❤\ufe0fstory", "story", true},
		{"H11 no words in the keyword", "a - b", "-", false},
		{"H11 empty keyword", "story", "", false},
		{"H11 empty prompt", "", "story", false},
		{"H11 invalid text", "\xffstory\xff", "story", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := routing.Keyword(tt.prompt, []routing.Target{{ID: "a", Base: 10, Keywords: map[string]int{tt.keyword: 40}}})
			want := 0.1
			if tt.want {
				want = 0.5
			}
			require.Len(t, got, 1)
			assert.Equal(t, want, got[0].Relevance)
			assert.Equal(t, tt.want, !got[0].BaseOnly)
		})
	}
}

func TestKeywordAnyCase(t *testing.T) {
	t.Run("H11 every letter in all its cases", func(t *testing.T) {
		for r := range unicode.MaxRune + 1 {
			if other := unicode.SimpleFold(r); other != r && unicode.IsLetter(r) {
				got := routing.Keyword("x"+string(other), []routing.Target{{ID: "a", Keywords: map[string]int{"x" + string(r): 40}}})
				assert.False(t, got[0].BaseOnly, "%c and %c", r, other)
			}
		}
	})
}

func TestKeywordRecord(t *testing.T) {
	tests := []struct {
		name, prompt string
		target       routing.Target
		want         routing.Relevance
	}{
		{
			"H10 relevance, priority and reason", "a plot and a scene",
			routing.Target{ID: "a", Priority: 3, Base: 10, Keywords: map[string]int{"scene": 30, "plot": 40, "song": 5}},
			routing.Relevance{ID: "a", Priority: 3, Relevance: .8, Reason: "matches plot 40, scene 30; base 10"},
		},
		{
			"H10 no match", "hello",
			routing.Target{ID: "a", Base: 15, Keywords: map[string]int{"scene": 30}},
			routing.Relevance{ID: "a", Relevance: .15, Reason: "no keyword matches; base 15", BaseOnly: true},
		},
		{
			"H10 no keywords", "hello",
			routing.Target{ID: "a"},
			routing.Relevance{ID: "a", Reason: "no keyword matches; base 0", BaseOnly: true},
		},
		{
			"H11 a repeated keyword counts once", "scene scene Scene",
			routing.Target{ID: "a", Keywords: map[string]int{"scene": 30}},
			routing.Relevance{ID: "a", Relevance: .3, Reason: "matches scene 30; base 0"},
		},
		{
			"H10 never above 1", "plot scene",
			routing.Target{ID: "a", Base: 50, Keywords: map[string]int{"scene": 30, "plot": 40}},
			routing.Relevance{ID: "a", Relevance: 1, Reason: "matches plot 40, scene 30; base 50"},
		},
		{
			"H10 bad points stay in range", "plot scene",
			routing.Target{ID: "a", Base: -5, Keywords: map[string]int{"scene": math.MaxInt, "plot": math.MinInt, "x": 1}},
			routing.Relevance{ID: "a", Relevance: 1, Reason: "matches scene 9223372036854775807; base -5"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, []routing.Relevance{tt.want}, routing.Keyword(tt.prompt, []routing.Target{tt.target}))
		})
	}
	t.Run("H12 highest first, then priority, then ID", func(t *testing.T) {
		got := routing.Keyword("scene", []routing.Target{
			{ID: "d", Priority: 2, Base: 10},
			{ID: "c", Priority: 1, Base: 10},
			{ID: "b", Priority: 1, Base: 10},
			{ID: "a", Priority: 9, Keywords: map[string]int{"scene": 11}},
		})
		assert.Equal(t, []string{"a 0.11", "b 0.10", "c 0.10", "d 0.10"}, scores(got))
	})
	t.Run("H10 no targets", func(t *testing.T) { assert.Empty(t, routing.Keyword("scene", nil)) })
}

func TestTargetValidate(t *testing.T) {
	tests := []struct {
		name   string
		target routing.Target
		want   string
	}{
		{"H10 no ID", routing.Target{}, `routing: target "": ID is empty`},
		{"H10 negative base", routing.Target{ID: "a", Base: -1}, `routing: target "a": Base is -1, want 0 to 100`},
		{"H10 base above 100", routing.Target{ID: "a", Base: 101}, `routing: target "a": Base is 101, want 0 to 100`},
		{"H11 negative points", routing.Target{ID: "a", Keywords: map[string]int{"x": -1}}, `routing: target "a": Keywords["x"] is -1, want 0 to 100`},
		{"H11 points above 100", routing.Target{ID: "a", Keywords: map[string]int{"x": 101}}, `routing: target "a": Keywords["x"] is 101, want 0 to 100`},
		{"H11 keyword without a word", routing.Target{ID: "a", Keywords: map[string]int{"--": 1}}, `routing: target "a": Keywords has "--", which holds no word`},
		{"H11 the same keyword twice", routing.Target{ID: "a", Keywords: map[string]int{"New_Scene": 1, "new scene": 2}}, `routing: target "a": Keywords has "New_Scene" and "new scene", which are the same words`},
		{"N20 the same keyword in two normal forms", routing.Target{ID: "a", Keywords: map[string]int{"café": 1, "cafe\u0301": 2}}, `routing: target "a": Keywords has "cafe` + "\u0301" + `" and "café", which are the same words`},
		{"H11 all faults in one", routing.Target{Base: 200, Keywords: map[string]int{"": 1}}, "routing: target \"\": ID is empty\nBase is 200, want 0 to 100\nKeywords has \"\", which holds no word"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.EqualError(t, tt.target.Validate(), tt.want)
		})
	}
	for _, target := range filmTargets() {
		t.Run("H23 "+target.ID+" is valid", func(t *testing.T) { require.NoError(t, target.Validate()) })
	}
	t.Run("H10 the bounds are valid", func(t *testing.T) {
		require.NoError(t, routing.Target{ID: "a", Base: 100, Keywords: map[string]int{"x": 0, "y": 100}}.Validate())
	})
}

// otherCase swaps every rune for the next of its case variants.
func otherCase(s string) string { return strings.Map(unicode.SimpleFold, s) }

func FuzzKeyword(f *testing.F) {
	f.Add(breadTheft, "as well as", 40)
	f.Add("check image_quality", "image quality", -3)
	f.Add("ΛΌΓΟΣ\u0345 \u0345x İı ſ K", "\u0345", 1000)
	f.Add("❤\ufe0fstory \xff", "\xff", 0)
	f.Fuzz(func(t *testing.T, prompt, keyword string, points int) {
		targets := append(filmTargets(), routing.Target{ID: "fuzz", Base: points, Keywords: map[string]int{keyword: points}})
		got := routing.Keyword(prompt, targets)
		for _, r := range got {
			if !(r.Relevance >= 0 && r.Relevance <= 1) {
				t.Errorf("Keyword(%q) gives %q a relevance of %v", prompt, r.ID, r.Relevance)
			}
		}
		sorted := slices.IsSortedFunc(got, func(a, b routing.Relevance) int {
			if a.Relevance != b.Relevance {
				return int(math.Copysign(1, b.Relevance-a.Relevance))
			}
			return a.Priority - b.Priority
		})
		if !sorted {
			t.Errorf("Keyword(%q) is not sorted: %v", prompt, scores(got))
		}
		for _, same := range []string{prompt, otherCase(prompt)} {
			if again := routing.Keyword(same, targets); !slices.Equal(got, again) {
				t.Errorf("Keyword(%q) = %v, Keyword(%q) = %v", prompt, got, same, again)
			}
		}
		if _, err := routing.Decide(got, filmDeps(), routing.DefaultCut); err != nil {
			t.Errorf("Decide(Keyword(%q)): %v", prompt, err)
		}
	})
}

// A request of 1,000 words against 200 departments with 50 keywords each, a tenth
// of them phrases. In one request a few keywords stand, in the other so many that
// every department is chosen and they run in eight waves.
func BenchmarkKeywordDecide(b *testing.B) {
	targets, deps := manyTargets()
	for _, every := range []int{100, 1} {
		b.Run(fmt.Sprintf("every %d words a keyword", every), func(b *testing.B) {
			words := make([]string, 1000)
			for w := range words {
				words[w] = fmt.Sprintf("Other%d", w)
				if w%every == 0 {
					words[w] = fmt.Sprintf("Word%d", w*10+w%2)
				}
			}
			prompt := strings.Join(words, " ")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := routing.Decide(routing.Keyword(prompt, targets), deps, routing.DefaultCut); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func manyTargets() ([]routing.Target, map[string][]string) {
	var targets []routing.Target
	deps := map[string][]string{}
	for d := range 200 {
		keywords := map[string]int{}
		for k := d * 50; k < d*50+50; k++ {
			word := fmt.Sprintf("word%d", k)
			if k%10 == 0 {
				word = fmt.Sprintf("word%d word%d", k, k+1)
			}
			keywords[word] = 20
		}
		id := fmt.Sprintf("dept%03d", d)
		targets = append(targets, routing.Target{ID: id, Priority: d, Base: 10, Keywords: keywords})
		if d > 0 {
			deps[id] = []string{fmt.Sprintf("dept%03d", d/2)}
		}
	}
	return targets, deps
}

// TestKeywordOfNoPoints: what adds nothing does not speak for a target either.
func TestKeywordOfNoPoints(t *testing.T) {
	for _, points := range []int{0, -5} {
		got := routing.Keyword("a red lamp", []routing.Target{{ID: "t", Base: 10, Keywords: map[string]int{"lamp": points}}})
		assert.Equal(t, []routing.Relevance{{ID: "t", Relevance: .1, Reason: "no keyword matches; base 10", BaseOnly: true}}, got, "N17")
	}
	got := routing.Keyword("a red lamp", []routing.Target{{ID: "t", Keywords: map[string]int{"lamp": 1, "red": 0}}})
	assert.Equal(t, []routing.Relevance{{ID: "t", Relevance: .01, Reason: "matches lamp 1; base 0"}}, got, "N17")
}
