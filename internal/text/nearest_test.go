package text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	names := []string{"critic", "leader", "writer", "writers", "x"}
	for name, want := range map[string]string{
		"critc": "critic", "Critic": "critic", "critic": "critic", "leadr": "leader", "leadre": "leader", "writers": "writers", "writerss": "writers",
		"judge": "", "": "", "y": "", "critcical": "critic", "critically": "", "writex": "writer", "kritik": "critic", "ab": "",
	} {
		assert.Equal(t, want, Nearest(name, names), name)
	}
	assert.Empty(t, Nearest("critic", nil))
	assert.Equal(t, "größe", Nearest("grösse", []string{"größe"}), "runes, not bytes")
}

// The distance is that of a table of all beginnings, which takes no shortcut.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2}} {
		assert.Equal(t, tt.want, distance(tt.a, tt.b, 100), "%q %q", tt.a, tt.b)
		assert.Equal(t, tt.want, distance(tt.b, tt.a, 100), "%q %q", tt.b, tt.a)
	}
	assert.GreaterOrEqual(t, distance("abcdef", "a", 2), 2)
}

// slow is distance by its definition.
func slow(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	same := slow(a[1:], b[1:])
	if a[0] == b[0] {
		return same
	}
	return 1 + min(same, slow(a[1:], b), slow(a, b[1:]))
}

// All pairs of short words, against the definition.
func TestDistanceIsThatOfTheDefinition(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 4; i++ {
		words = append(words, words[i]+"a", words[i]+"b")
	}
	for _, a := range words {
		for _, b := range words {
			want := slow(a, b)
			for _, most := range []int{1, 2, 100} {
				if got := distance(a, b, most); got != want && (got < most || want < most) {
					t.Fatalf("distance(%q, %q, %d) is %d, want %d", a, b, most, got, want)
				}
			}
		}
	}
}
