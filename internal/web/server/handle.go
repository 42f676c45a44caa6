package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/strictjson"
	"github.com/regwarden/regwarden/internal/web/requestbody"
	"github.com/regwarden/regwarden/internal/web/scim"
	"github.com/regwarden/regwarden/regcheck"
)

// route is one operation of the API.
type route struct {
	method            string
	path              string
	handle            func(*call) (response, error)
	auth              authentication
	worksWithoutStore bool // the response comes from memory and is the same for every caller
	announced         bool // writes one audit record, whose uid a successful response has in AuditUid
	scim              bool // speaks SCIM: its media type, and API keys as bearer tokens
	recordsRefusals   bool // refusals after authentication are recorded too: the handler checks the project and sets AuditUid
}

// authentication is what an operation requires of its caller.
type authentication int

// Requirements. byPermission is for operations that ask for a permission, or show what every caller of the organization may see: an API key
// can use them within its limits. byUser is for those on what is the user's own: a limited key cannot use them.
const (
	byAnyone authentication = iota
	byUser
	byPermission
)

type methodSet map[string]route

// call is one request to a handler.
type call struct {
	*http.Request
	w         http.ResponseWriter
	origin    audit.Origin
	principal auth.Principal // set if the route requires authentication
	project   string         // uid from ProjectUid, which the principal may see; empty without the header
	bodies    requestbody.Reader
}

// response is the result of a handler: a status and a body to encode, nil for none.
type response struct {
	status int
	body   any
}

// notValid is the error of a validation whose result is not valid. It is not a fault, since the check succeeded.
type notValid struct{ report *regcheck.Report }

func (n notValid) Error() string { return "the registry definition is not valid" }

// perMethod dispatches by method. The methods of ServeMux are not used: its "GET" also accepts HEAD, which must not
// consume a refresh token, and its 405 has no error body.
func (s *Server) perMethod(path string, set methodSet) http.Handler {
	allow := slices.Sorted(maps.Keys(set))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordOf(w).template = path
		route, ok := set[r.Method]
		if !ok {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			s.fail(w, r, &fault.Error{Kind: fault.Invalid, Code: fault.CodeMethodNotAllowed,
				Message: "Allowed methods: " + strings.Join(allow, ", ") + "."})
			return
		}
		s.serve(w, r, route)
	})
}

// serve runs one operation: authentication, project, handler, encoding.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route route) {
	c := &call{Request: r, w: w, origin: recordOf(w).origin, bodies: requestbody.Reader{Budget: s.Requests}}
	result, err := s.run(c, route)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if c.origin.AuditUID != "" {
		setAuditUID(w, c.origin.AuditUID)
	}
	s.succeed(c, result)
}

// setAuditUID keeps the spelling of the API; Set would write Audituid.
func setAuditUID(w http.ResponseWriter, uid string) { w.Header()[api.HeaderAuditUID] = []string{uid} }

func (s *Server) run(c *call, route route) (response, error) {
	if route.announced {
		c.origin.AuditUID = uuid.NewString()
	}
	if route.auth != byAnyone {
		if err := s.identify(c, route); err != nil {
			return response{}, err
		}
		if !route.recordsRefusals {
			if err := findProject(c, s.Directory); err != nil {
				return response{}, err
			}
		}
	}
	return route.handle(c)
}

// identify authenticates the caller.
func (s *Server) identify(c *call, route route) error {
	authorization, err := single(c.Request, api.HeaderAuthorization)
	if err != nil {
		return err
	}
	key, err := single(c.Request, api.HeaderAPIKey)
	if err != nil {
		return err
	}
	if c.project, err = single(c.Request, api.HeaderProjectUID); err != nil {
		return err
	}
	if route.scim {
		authorization, key = scim.Credentials(authorization, key)
	}
	if local, ok := c.Context().Value(localKey{}).(auth.Principal); ok {
		c.principal = local
		return nil
	}
	whoCalls := s.Auth.Authenticator.Authenticate
	if route.worksWithoutStore {
		whoCalls = s.Auth.Authenticator.Recognize
	}
	if c.principal, err = whoCalls(c.Context(), presented(authorization, key)); err == nil && route.auth == byUser {
		err = c.principal.May(access.OwnAccount)
	}
	c.project = cmp.Or(c.project, c.principal.Limit.Project)
	return err
}

// findProject checks that the caller may see the project of the request.
func findProject(c *call, in *directory.Directory) error {
	if c.project == "" {
		return nil
	}
	_, err := in.Project(c.Context(), c.principal, c.project)
	return err
}

// single returns the value of a header that may be sent once. With two values, a proxy and the service could use
// different ones.
func single(r *http.Request, name string) (string, error) {
	values := r.Header.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", fault.InvalidField(name, "must be sent only once")
	}
}

// decode reads the request's JSON body into v, and returns the fields with a value of the wrong type.
func (c *call) decode(v any) ([]fault.Field, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return c.decodeJSON(body, v)
}

// decodeJSON decodes a body into v, and names members that v does not have in the response.
func (c *call) decodeJSON(body []byte, v any) ([]fault.Field, error) {
	wrong, err := strictjson.Decode(body, v)
	if err == nil {
		c.warnOfUnknown(strictjson.Unknown(body, v, api.IgnoredFields...))
	}
	return wrong, err
}

// body reads the whole body, which must be announced as JSON, within the limits of size and time.
func (c *call) body() ([]byte, error) {
	if err := c.checkContentType(); err != nil {
		return nil, err
	}
	limit := int64(maxBody)
	if c.principal.Role == "" { // the route needs no credentials
		limit = maxAnonymousBody
	}
	return c.readBody(limit)
}

// readBody reads the whole body within the limits of size, time and memory. It is called once per request.
func (c *call) readBody(limit int64) (body []byte, err error) {
	if err = c.bodies.Bound(c.w, c.Request, c.principal, c.origin.Source(), limit); err == nil {
		body, err = io.ReadAll(c.Body)
	}
	if err != nil {
		return nil, requestbody.Fault(c.w, err, "request body", limit)
	}
	c.Body = http.NoBody // see requestbody.GiveUp
	return body, nil
}

// read is decode for a body that the domain validates too. It returns an error if there is any problem.
func (c *call) read(v any, problems func() []fault.Field) error {
	wrong, err := c.decode(v)
	if err != nil {
		return err
	}
	return fault.InvalidIfAny(fault.Join(wrong, problems()))
}

// checkEncoding returns a fault for a compressed body.
func (c *call) checkEncoding() error {
	if encoding := c.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &fault.Error{Kind: fault.Invalid, Code: fault.CodeUnsupportedMedia, Message: "The request body must not be compressed."}
	}
	return nil
}

// checkContentType returns a fault unless the body is announced as plain JSON.
func (c *call) checkContentType() error {
	if err := c.checkEncoding(); err != nil {
		return err
	}
	media, parameters, err := mime.ParseMediaType(strings.Join(c.Header.Values("Content-Type"), ", "))
	charset := parameters["charset"]
	isJSON := media == "application/json" || media == api.SCIMType && scim.Serves(c.URL.Path)
	if err != nil || !isJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &fault.Error{Kind: fault.Invalid, Code: fault.CodeUnsupportedMedia,
			Message: "The request body must be JSON, with the header Content-Type: application/json."}
	}
	return nil
}

func (s *Server) succeed(c *call, resp response) {
	requestbody.GiveUp(c.w, c.Request)
	if resp.body == nil {
		c.w.WriteHeader(resp.status)
		return
	}
	out := &outgoing{s: s, c: c, status: resp.status, contentType: typeOf(c.Request)}
	defer out.release()
	err := out.writeBody(resp.body)
	if err != nil && !out.begun {
		s.fail(c.w, c.Request, err)
	} else if err != nil {
		abort(c.w, c.Request, err)
	}
}

// abort closes the connection of a response that cannot be completed, so that no client takes it for complete.
func abort(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // else the client went away
		setOutcome(w, "ResponseNotSent", err)
	}
	panic(http.ErrAbortHandler)
}

// fail sends the response of an error: of a fault, or of a definition that is not valid.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	requestbody.GiveUp(w, r)
	body := &api.Error{Ref: recordOf(w).origin.RequestID}
	if invalid, ok := errors.AsType[notValid](err); ok {
		s.failNotValid(w, r, body, invalid.report)
		return
	}
	f := s.noteFault(w, r, err)
	body.Status, body.Code, body.Message, body.Details = f.Status(), f.Code, f.Message, details(f)
	if f.Code == federation.CodeDevice {
		body.OAuthError = f.Reason
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", f.RetryAfterSeconds())
	}
	if scim.Serves(r.URL.Path) {
		s.encode(w, r, body.Status, scim.Error(body, f))
		return
	}
	s.encode(w, r, body.Status, body)
}

// noteFault logs an error and returns the fault that the client gets for it.
func (s *Server) noteFault(w http.ResponseWriter, r *http.Request, err error) *fault.Error {
	f := fault.Visible(err)
	if f.Kind == fault.Internal {
		s.logInternal(w, r, err)
		if r.Context().Err() != nil {
			setOutcome(w, fault.CodeClientGone, nil)
			return f
		}
	}
	setOutcome(w, f.Code, f.Cause)
	return f
}

func (s *Server) failNotValid(w http.ResponseWriter, r *http.Request, body *api.Error, report *regcheck.Report) {
	details, err := json.Marshal(report)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// Terraform shows only the message.
	body.Code, body.Message, body.Details = string(report.Code), strings.TrimSpace(report.Message+" "+report.Hint), details
	setOutcome(w, body.Code, nil)
	s.encode(w, r, http.StatusUnprocessableEntity, body)
}

func details(f *fault.Error) json.RawMessage {
	out, err := json.Marshal(struct {
		Fields []fault.Field `json:"fields,omitempty"`
		Reason string        `json:"reason,omitempty"`
	}{f.Fields, f.Reason})
	if err != nil { // encoding strings cannot fail
		return json.RawMessage(`{}`)
	}
	return out
}

func (s *Server) encode(w http.ResponseWriter, r *http.Request, status int, body any) {
	w.Header()["Content-Type"] = typeOf(r)
	w.WriteHeader(status)
	text, err := encodeJSON(body)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil && r.Context().Err() == nil {
		setOutcome(w, "ResponseNotSent", err)
	}
}
