/* Ids for the lists of policies.test.ts. */

export const ofScim = ['create', 'delete', 'patch', 'read', 'replace']
  .flatMap((verb) => [`provisioning.${verb}Group`, `provisioning.${verb}User`])
  .concat(['Groups', 'ResourceTypes', 'Schemas', 'Users'].map((name) => `provisioning.list${name}`))
  .concat('provisioning.readConfig')
  .toSorted()

export function ofWebhooks(names: string): string[] {
  return names
    .split(' ')
    .map((name) => `webhooks.${name}`)
    .toSorted()
}
