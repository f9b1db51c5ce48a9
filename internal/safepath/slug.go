package safepath

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// slugLength is the limit of a slug in bytes, without a hash.
const slugLength = 40

// Slug returns a name for id that is harmless in paths, branches and commands. It has 1 to
// 47 characters of a-z, 0-9, "_" and "-", with no "-" at its ends or twice in a row.
//
// An id that is such a name of at most 40 characters is returned as it is. Any other slug
// ends in six hexadecimal digits of the hash of id. So different IDs have different slugs,
// except for one in 16 million pairs.
func Slug(id string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, id)
	slug = strings.Join(strings.FieldsFunc(slug, func(r rune) bool { return r == '-' }), "-")
	slug = strings.TrimRight(slug[:min(len(slug), slugLength)], "-")
	if slug == id && id != "" {
		return slug
	}
	if slug == "" {
		slug = "task"
	}
	sum := sha256.Sum256([]byte(id))
	return slug + "-" + hex.EncodeToString(sum[:3])
}
