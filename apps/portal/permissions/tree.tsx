import { t } from '../../kit/i18n.ts'
import { useSession } from '../../kit/session.tsx'
import { type PermissionNode, usePermissionNodes } from './permissions.tsx'

interface FieldsProps {
  codes: readonly string[]
  /** Those that are granted already. */
  granted?: readonly string[]
}

/** Boxes for permissions. Those that the user cannot grant are disabled. Read them with `chosenPermissions`. */
export function PermissionFields({ codes, granted = [] }: FieldsProps) {
  const { permissions } = useSession()
  const nodes = usePermissionNodes(codes)
  const isLacking = codes.some((code) => !permissions.has(code) && !granted.includes(code))
  return (
    <fieldset className="permissions">
      <legend>{t('permissions.title')}</legend>
      {isLacking && <p className="hint">{t('permissions.onlyOwn')}</p>}
      <ul className="permissions-tree">
        {nodes.map((node) => (
          <Box key={node.code} node={node} granted={new Set(granted)} own={permissions} />
        ))}
      </ul>
    </fieldset>
  )
}

export function chosenPermissions(form: HTMLFormElement): string[] {
  return new FormData(form).getAll('permissionCodes').filter((code) => typeof code === 'string')
}

/** Permissions that are only shown. */
export function PermissionList({ codes }: { codes: readonly string[] }) {
  const nodes = usePermissionNodes(codes)
  if (nodes.length === 0) return <p className="hint">{t('permissions.none')}</p>
  return (
    <ul className="permissions-tree" aria-label={t('permissions.title')}>
      {nodes.map((node) => (
        <Item key={node.code} node={node} />
      ))}
    </ul>
  )
}

interface BoxProps {
  node: PermissionNode
  granted: ReadonlySet<string>
  own: ReadonlySet<string>
}

function Box({ node: { code, name, description, children }, granted, own }: BoxProps) {
  const isGranted = granted.has(code)
  const hint = `permission-${code}`
  return (
    <li>
      <label className="check">
        <input
          type="checkbox"
          name="permissionCodes"
          value={code}
          defaultChecked={isGranted}
          disabled={!isGranted && !own.has(code)}
          aria-describedby={hint}
        />
        <span>{name}</span>
      </label>
      <p id={hint} className="hint">
        {description}
      </p>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Box key={child.code} node={child} granted={granted} own={own} />
          ))}
        </ul>
      )}
    </li>
  )
}

function Item({ node: { name, description, children } }: { node: PermissionNode }) {
  return (
    <li>
      {name}
      <p className="hint">{description}</p>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Item key={child.code} node={child} />
          ))}
        </ul>
      )}
    </li>
  )
}
