import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { t } from './i18n.ts'
import { isPrompting } from './prompts.ts'

interface Props {
  title: string
  isOpen: boolean
  onClose(): void
  children: ReactNode
}

/**
 * A modal dialog. The focus stays in it and returns to the element that opened it. Escape closes it, unless a prompt is open
 * above it.
 */
export function Dialog({ onClose, ...props }: Props) {
  return <PromptDialog {...props} onClose={() => isPrompting() || onClose()} />
}

/** The dialog of a prompt. */
export function PromptDialog({ title, isOpen, onClose, children }: Props) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => open || onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog">
          <div className="dialog-head">
            <Base.Title className="dialog-title">{title}</Base.Title>
            <Base.Close className="quiet" aria-label={t('kit.close')}>
              ×
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
