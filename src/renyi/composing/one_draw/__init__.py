"""Several releases on one draw of the records, as one law that a sampling can take."""
