package scim

import (
	"maps"

	"github.com/regwarden/regwarden/api"
)

type object = map[string]any

const configSchema = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"

// serviceProviderConfig says what is supported (RFC 7643 section 5).
func serviceProviderConfig() any {
	return object{
		"schemas":        []string{configSchema},
		"patch":          object{"supported": true},
		"bulk":           object{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter":         object{"supported": true, "maxResults": maxCount},
		"changePassword": object{"supported": false},
		"sort":           object{"supported": false},
		"etag":           object{"supported": false},
		"authenticationSchemes": []object{{"type": "oauthbearertoken", "name": "API key", "primary": true,
			"description": "An API key with the scope provision, as a bearer token"}},
		"meta": object{"resourceType": "ServiceProviderConfig", "location": api.PathSCIMConfig},
	}
}

func listOf(resources ...any) any {
	return api.SCIMList{Schemas: []string{api.SCIMListSchema}, TotalResults: int64(len(resources)), StartIndex: 1,
		ItemsPerPage: len(resources), Resources: resources}
}

func resourceTypes() any {
	return listOf(resourceType(userType, "/Users", api.SCIMUserSchema), resourceType(groupType, "/Groups", api.SCIMGroupSchema))
}

func resourceType(name, endpoint, schema string) object {
	return object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"}, "id": name, "name": name,
		"endpoint": endpoint, "schema": schema, "meta": object{"resourceType": "ResourceType"}}
}

func schemas() any {
	return listOf(
		schemaOf(api.SCIMUserSchema, userType,
			attribute("userName", "string", object{"required": true, "uniqueness": "server", "description": "The email."}),
			attribute("name", "complex", object{"subAttributes": []object{attribute("givenName", "string", nil),
				attribute("familyName", "string", nil)}}),
			attribute("displayName", "string", nil),
			attribute("emails", "complex", object{"multiValued": true, "mutability": "readOnly", "description": "The same as userName.",
				"subAttributes": []object{attribute("value", "string", object{"mutability": "readOnly"}),
					attribute("type", "string", object{"mutability": "readOnly"}),
					attribute("primary", "boolean", object{"mutability": "readOnly"})}}),
			attribute("active", "boolean", nil)),
		schemaOf(api.SCIMGroupSchema, groupType,
			attribute("displayName", "string", object{"required": true, "uniqueness": "server", "caseExact": true}),
			attribute("members", "complex", object{"multiValued": true, "subAttributes": []object{
				attribute("value", "string", object{"mutability": "immutable", "caseExact": true, "description": "The id of a user."}),
				attribute("display", "string", object{"mutability": "readOnly"}),
				attribute("type", "string", object{"mutability": "immutable"})}})))
}

func schemaOf(id, name string, attributes ...object) object {
	return object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Schema"}, "id": id, "name": name, "attributes": attributes,
		"meta": object{"resourceType": "Schema"}}
}

// attribute describes one by RFC 7643 section 7; differs has what is not the usual.
func attribute(name, kind string, differs object) object {
	a := object{"name": name, "type": kind, "multiValued": false, "required": false, "caseExact": false, "mutability": "readWrite",
		"returned": "default", "uniqueness": "none", "description": ""}
	maps.Copy(a, differs)
	return a
}
