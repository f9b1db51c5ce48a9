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
