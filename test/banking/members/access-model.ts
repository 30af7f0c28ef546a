/* The permissions in one workspace. Indexes identify people and roles; role 0 is OWNER. */

import { workspacePermissions } from '../../../src/contract/index.ts'
import type { Permission } from '../../../src/kernel/index.ts'

export type Limit = { enterable?: boolean; readOnly?: boolean } | null

interface Role {
  isOwner: boolean
  permissions: readonly Permission[]
}
interface Member {
  role: Role
  limit: Limit
}
interface Offer {
  by: number
  to: number
  role: Role
  /** Until somebody confirms it, which no command does. */
  isSuspended: boolean
}

export type Command =
  | { kind: 'create'; by: number; permissions: Permission[] }
  | { kind: 'grant'; by: number; role: number; permissions: Permission[] }
  | { kind: 'assign'; by: number; to: number; role: number }
  | { kind: 'invite'; by: number; to: number; role: number }
  | { kind: 'accept' | 'leave'; by: number }
  | { kind: 'limit'; to: number; limit: Limit }
  | { kind: 'freeze' }

const denied = 'ACCESS.PERMISSION_DENIED'
const conflict = 'STATE.CONFLICT'
const unknown = 'RESOURCE.NOT_FOUND'
function isPower(permission: Permission): boolean {
  return permission.endsWith(':manage')
}

/** Person 0 is the owner. */
export function createAccessModel() {
  const owners: Role = { isOwner: true, permissions: [] }
  const roles = [owners]
  const members = new Map<number, Member>([[0, { role: owners, limit: null }]])
  /** These limits apply again if the member returns. */
  const formerLimits = new Map<number, Limit>()
  const offers = new Map<number, Offer>()
  let isFrozen = false

  /** Null if the person is not a member or cannot enter. */
  const permissionsOf = (who: number): Set<Permission> | null => (isFrozen ? null : rightsOf(who))
  /** Freezing the workspace takes no right. */
  const rightsOf = (who: number): Set<Permission> | null => {
    const member = members.get(who)
    if (!member || member.limit?.enterable === false) return null
    const held = member.role.isOwner ? workspacePermissions : member.role.permissions
    return new Set(held.filter((permission) => member.limit?.readOnly !== true || permission.endsWith(':read')))
  }
  const has = (who: number, permission: Permission): boolean => permissionsOf(who)?.has(permission) === true
  const isOwner = (who: number): boolean => members.get(who)?.role.isOwner === true
  const mayGrant = (who: number, role: Role): boolean =>
    role.isOwner ? isOwner(who) : role.permissions.every((permission) => has(who, permission))
  /** An offer ends when its inviter loses the right to make it. */
  const endLostOffers = (): void => {
    for (const [to, { by, role }] of offers) {
      const rights = rightsOf(by)
      const isRight = role.isOwner ? isOwner(by) : role.permissions.every((permission) => rights?.has(permission))
      if (!rights?.has('invitation:manage') || !isRight) offers.delete(to)
    }
  }
  const isLastOwner = (who: number): boolean =>
    isOwner(who) &&
    ![...members].some(
      ([other, { role, limit }]) =>
        other !== who && role.isOwner && limit?.enterable !== false && limit?.readOnly !== true,
    )

  const assign = (by: number, to: number, role: Role): string => {
    const member = members.get(to)
    if (!member) return unknown
    if ((member.role.isOwner && !isOwner(by)) || !mayGrant(by, role)) return denied
    if (!role.isOwner && isLastOwner(to)) return 'WORKSPACE.LAST_OWNER'
    member.role = role
    return 'none'
  }
  const invite = (offer: Offer): string => {
    if (!mayGrant(offer.by, offer.role)) return denied
    if (members.has(offer.to) || offers.has(offer.to)) return conflict
    offers.set(offer.to, offer)
    return 'none'
  }
  const accept = (who: number): string => {
    const offer = offers.get(who)
    if (!offer || offer.isSuspended) return unknown
    if (isFrozen) return 'WORKSPACE.NOT_ACTIVE'
    if (!has(offer.by, 'invitation:manage') || !mayGrant(offer.by, offer.role)) return conflict
    offers.delete(who)
    members.set(who, { role: offer.role, limit: formerLimits.get(who) ?? null })
    formerLimits.delete(who)
    return 'none'
  }
  const leave = (who: number): string => {
    if (permissionsOf(who) === null) return denied
    if (isLastOwner(who)) return 'WORKSPACE.LAST_OWNER'
    formerLimits.set(who, members.get(who)?.limit ?? null)
    members.delete(who)
    return 'none'
  }
  const limit = (who: number, to: Limit): string => {
    const member = members.get(who)
    if (!member) return unknown
    member.limit = to
    return 'none'
  }
  const create = (by: number, permissions: Permission[]): string => {
    const role = { isOwner: false, permissions }
    if (!mayGrant(by, role)) return denied
    roles.push(role)
    return 'none'
  }
  const grant = (by: number, role: Role, permissions: Permission[]): string => {
    const added = permissions.filter((permission) => !role.permissions.includes(permission))
    if (role.isOwner || !mayGrant(by, { isOwner: false, permissions: added })) return denied
    role.permissions = permissions
    if (added.some(isPower)) for (const offer of offers.values()) offer.isSuspended ||= offer.role === role
    return 'none'
  }

  /** Returns the code of the refusal, or `none`. */
  const execute = (command: Command): string => {
    const code = run(command)
    endLostOffers()
    return code
  }
  const run = (command: Command): string => {
    const role = 'role' in command ? (roles[command.role] ?? owners) : owners
    switch (command.kind) {
      case 'create':
        return has(command.by, 'role:manage') ? create(command.by, command.permissions) : denied
      case 'grant':
        return has(command.by, 'role:manage') ? grant(command.by, role, command.permissions) : denied
      case 'assign':
        return has(command.by, 'member:manage') ? assign(command.by, command.to, role) : denied
      case 'invite':
        return has(command.by, 'invitation:manage')
          ? invite({ by: command.by, to: command.to, role, isSuspended: false })
          : denied
      case 'accept':
        return accept(command.by)
      case 'leave':
        return leave(command.by)
      case 'limit':
        return limit(command.to, command.limit)
      case 'freeze':
        isFrozen = !isFrozen
        return 'none'
    }
  }
  return { execute, permissionsOf, roles, isFrozen: () => isFrozen }
}
