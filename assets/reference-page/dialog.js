/*
 * Makes the renderer's dialog accessible: marks it as a dialog, traps the focus while it is open, restores the focus
 * afterwards, and closes it on Escape.
 */
const find = () => document.querySelector('.modal-ux')
let isOpen = false
let outside = null

const enter = () => find()?.querySelector('input, button')?.focus()

const update = () => {
  const dialog = find()
  if (dialog && !dialog.hasAttribute('role')) {
    dialog.setAttribute('role', 'dialog')
    dialog.setAttribute('aria-modal', 'true')
    enter()
  }
  if (!dialog && isOpen) outside?.focus()
  isOpen = dialog !== null
}

new MutationObserver(update).observe(document.getElementById('reference'), { childList: true, subtree: true })

addEventListener('focusin', ({ target }) => {
  const dialog = find()
  if (!dialog) outside = target
  else if (!dialog.contains(target)) enter()
})

addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') document.querySelector('.close-modal')?.click()
})
