import { z } from 'zod'
import { positive } from '../../config/values.ts'

export const provisioningSettings = z.strictObject({
  maxUsers: positive.describe(
    'Maximum number of people that an identity provider can create with SCIM, including deleted ones.',
  ),
  maxGroups: positive.describe('Maximum number of groups that an identity provider can create with SCIM.'),
})

/** Maximum number of resources in a reply. */
export const maxResults = 100
