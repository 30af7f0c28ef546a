import { describe, expect, test } from 'vitest'
import { parseFilter, parsePath } from '../../../src/banking/provisioning/scim/attributes.ts'

describe('parseFilter', () => {
  test.each([
    ['userName eq "ann@corp.example"', [{ attribute: 'username', value: 'ann@corp.example' }]],
    ['USERNAME EQ "a \\"quoted\\" name"', [{ attribute: 'username', value: 'a "quoted" name' }]],
    ['active eq True', [{ attribute: 'active', value: true }]],
    [
      'emails[type eq "work"].value eq "a@b.example"',
      [{ attribute: 'emails.value', value: 'a@b.example', within: { attribute: 'type', value: 'work' } }],
    ],
    [
      'externalId eq "a and b" and active eq false',
      [
        { attribute: 'externalid', value: 'a and b' },
        { attribute: 'active', value: false },
      ],
    ],
    ['urn:ietf:params:scim:schemas:core:2.0:Group:displayName eq "x"', [{ attribute: 'displayname', value: 'x' }]],
  ])('%s', (filter, expected) => {
    expect(parseFilter(filter)).toMatchObject(expected)
  })

  test.each([
    '',
    'userName',
    'userName eq',
    'userName eq ann',
    'userName eq 7',
    'userName ne "a"',
    'userName eq "a" or active eq true',
    'not (active eq true)',
    '(userName eq "a")',
    'userName eq "a" and',
    'userName eq "a"x',
    'userName eq "a\\u0000"',
    'userName eq "\\ud800"',
    'emails[type eq "work" and primary eq true].value eq "a"',
    'emails[type eq "work"',
    Array.from({ length: 6 }, () => 'active eq true').join(' and '),
    `userName eq "${'\\'.repeat(999)}"`,
  ])('%s: 400 PROVISIONING.INVALID_FILTER', (filter) => {
    expect(() => parseFilter(filter)).toThrow(expect.objectContaining({ code: 'PROVISIONING.INVALID_FILTER' }))
  })
})

describe('parsePath', () => {
  test.each([
    ['name.givenName', 'name.givenname'],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName', 'username'],
    [
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:userName',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:username',
    ],
  ])('%s', (path, attribute) => {
    expect(parsePath(path)).toEqual({ attribute, within: null })
  })

  test.each(['', '.', 'a.b.c', 'members[', 'members[value]', 'members[value eq "a"]x', 'a b', '__proto__.x'])(
    '%s: 400 PROVISIONING.INVALID_PATH',
    (path) => {
      expect(() => parsePath(path)).toThrow(expect.objectContaining({ code: 'PROVISIONING.INVALID_PATH' }))
    },
  )
})
