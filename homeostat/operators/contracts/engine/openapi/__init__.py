"""Operations of OpenAPI documents, for those who show or call them. Pure."""
