package cli

import (
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

// Files of the command line may be those of others, such as a pull request.
func TestFilesHaveALimitOfTime(t *testing.T) {
	o, err := new(sourceFlags).options(t.Context(), "--format")
	if err != nil || o.FileTime != model.DefaultFileTime {
		t.Errorf("%v, %v", o.FileTime, err)
	}
}
