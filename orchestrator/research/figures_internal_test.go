package research

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFigures(t *testing.T) {
	t.Run("RA38 R43 RC8 research workers", func(t *testing.T) {
		for sources, want := range map[int]int{1: 1, 5: 1, 10: 2, 12: 3, 15: 3, 20: 4, 50: 5, 0: 1, 1000: 5} {
			assert.Equal(t, want, researchWorkers(sources), sources)
		}
	})
	t.Run("RA80 RC38 reading time", func(t *testing.T) {
		for words, minutes := range map[int]int{2150: 10, 150: 1, 0: 1, 400: 2, 399: 1} {
			assert.Equal(t, minutes, readingMinutes(words), "%d words", words)
		}
	})
}
