// The words of a sale with orders of several units in French.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Combien\u00a0?",
  order: "Commander {0} articles",
  orderFor: "Commander {0} articles pour {1}",
  openDetail: "Appuyez une seule fois. Si la boutique est très sollicitée, cette page réessaie pour vous. Vous obtenez une seule commande, de {0} articles au maximum.",
  stuckOrderDetail: "Réessayez\u00a0: vous obtiendrez une seule commande, quel que soit le nombre d’essais.",
  notEnough: "Il n’en reste que {0}, moins que demandé.",
  notEnoughDetail: "Rien n’est encore commandé. Vous pouvez commander ce qui reste.",
  reserved: "Vous en avez {0}. Ils vous sont réservés.",
  unpaid: "Vous en avez {0}. Payez pour les garder.",
  cancelSure: "Annuler toute la commande\u00a0? Les {0} articles seront remis en vente et vous ne pourrez plus commander.",
  cancelSureGroup: "Annuler toute la commande\u00a0? Les {0} articles seront remis en vente et vous ne pourrez plus commander, ni celui-ci ni un autre de ces articles.",
};
