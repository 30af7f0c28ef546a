/*
 * The requests of Entra ID and Okta, with the shapes of their documentation and other values.
 *
 * Entra ID: learn.microsoft.com, "Develop a SCIM endpoint" (MicrosoftDocs/entra-docs,
 * docs/identity/app-provisioning/use-scim-to-provision-users-and-groups.md at 03cc7794), and "Known issues with SCIM 2.0
 * protocol compliance" (application-provisioning-config-problem-scim-compatibility.md at 0596ed57), whose legacy shapes
 * are the default.
 * Okta: developer.okta.com, "SCIM 2.0 Protocol Reference".
 */

const patch = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
const core = 'urn:ietf:params:scim:schemas:core:2.0'

export const entra = {
  createUser: (name: string) => ({
    schemas: [`${core}:User`, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
    externalId: `entra-${name}`,
    userName: `${name}@corp.example`,
    active: true,
    emails: [{ primary: true, type: 'work', value: `${name}@corp.example` }],
    meta: { resourceType: 'User' },
    name: { formatted: `${name} Meyer`, familyName: 'Meyer', givenName: name },
    roles: [],
  }),
  updateMultiValued: {
    schemas: patch,
    Operations: [
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@corp.example' },
      { op: 'Replace', path: 'name.familyName', value: 'Updated' },
    ],
  },
  updateSingleValued: {
    schemas: patch,
    Operations: [{ op: 'Replace', path: 'userName', value: 'renamed@corp.example' }],
  },
  disable: { Operations: [{ op: 'Replace', path: 'active', value: false }], schemas: patch },
  legacyDisable: { schemas: patch, Operations: [{ op: 'Replace', path: 'active', value: 'False' }] },
  legacyEnable: { schemas: patch, Operations: [{ op: 'Replace', path: 'active', value: 'True' }] },
  legacyAdd: { schemas: patch, Operations: [{ op: 'Add', path: 'nickName', value: 'Babs' }] },
  legacyReplace: {
    schemas: patch,
    Operations: [
      { op: 'Replace', path: 'displayName', value: 'Pat Voss' },
      { op: 'Replace', path: 'name.givenName', value: 'Pat' },
      { op: 'Replace', path: 'name.familyName', value: 'Voss' },
      {
        op: 'Replace',
        path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:employeeNumber',
        value: '4711',
      },
    ],
  },
  flaggedReplace: {
    schemas: patch,
    Operations: [
      {
        op: 'replace',
        value: {
          displayName: 'Kim Una',
          'name.givenName': 'Kim',
          'name.familyName': 'Una',
          'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:employeeNumber': '4712',
        },
      },
    ],
  },
  createGroup: (displayName: string) => ({
    schemas: [`${core}:Group`, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
    externalId: `entra-${displayName}`,
    displayName,
    meta: { resourceType: 'Group' },
  }),
  renameGroup: (value: string) => ({
    schemas: patch,
    Operations: [{ op: 'Replace', path: 'displayName', value }],
  }),
  addMember: (value: string) => ({
    schemas: patch,
    Operations: [{ op: 'Add', path: 'members', value: [{ $ref: null, value }] }],
  }),
  legacyRemoveMember: (value: string) => ({
    schemas: patch,
    Operations: [{ op: 'Remove', path: 'members', value: [{ $ref: null, value }] }],
  }),
  flaggedRemoveMember: (value: string) => ({
    schemas: patch,
    Operations: [{ op: 'remove', path: `members[value eq "${value}"]` }],
  }),
}

export const okta = {
  createUser: (name: string) => ({
    schemas: [`${core}:User`],
    userName: `${name}@okta.example`,
    name: { givenName: name, familyName: 'User' },
    emails: [{ primary: true, value: `${name}@okta.example`, type: 'work' }],
    displayName: `${name} User`,
    locale: 'en-US',
    externalId: `okta-${name}`,
    groups: [],
    password: '1mz050nq',
    active: true,
  }),
  replaceUser: (id: string, name: string, active = true) => ({
    schemas: [`${core}:User`],
    id,
    userName: `${name}@okta.example`,
    externalId: `okta-${name}`,
    name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
    emails: [{ primary: true, value: `${name}@okta.example`, type: 'work', display: `${name}@okta.example` }],
    active,
    groups: [],
    meta: { resourceType: 'User' },
  }),
  deactivate: { schemas: patch, Operations: [{ op: 'replace', value: { active: false } }] },
  activate: { schemas: patch, Operations: [{ op: 'replace', value: { active: true } }] },
  createGroup: (displayName: string) => ({ schemas: [`${core}:Group`], displayName, members: [] }),
  renameGroup: (id: string, displayName: string) => ({
    schemas: patch,
    Operations: [{ op: 'replace', value: { id, displayName } }],
  }),
  changeMembers: (removed: string, added: string) => ({
    schemas: patch,
    Operations: [
      { op: 'remove', path: `members[value eq "${removed}"]` },
      { op: 'add', path: 'members', value: [{ value: added, display: 'test.user@okta.example' }] },
    ],
  }),
  replaceMembers: (...ids: string[]) => ({
    schemas: patch,
    Operations: [
      { op: 'replace', path: 'members', value: ids.map((value) => ({ value, display: 'test.user@okta.example' })) },
    ],
  }),
}
